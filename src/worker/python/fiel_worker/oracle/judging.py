"""Cases from preparation to comparison: a mixin of Oracle."""

import time

from .. import numerics
from ..channel import Context, Fault
from ..values import align, describe, flatten, layout, view
from . import placement
from .cases import Case, Cases
from .impostors import impostors
from .model_state import named_state
from .probes import Recipe
from .randomness import Samples, compare_random
from .verification import verify

REPEATING = ("same-address", "new-address", "one-element", "weights-in-place", "guard-bands",
             "schedules", "repeated-calls", "same-data")


class Judging:
    def op_prepare(self, message: dict, context: Context) -> dict:
        cases = self.ready()
        recipe = Recipe(str(message.get("probe", "task-inputs")), _variant(message.get("variant")),
                        int(message.get("seed", 0)))
        base = cases.get(message["base"]) if message.get("base") is not None else None
        weights = message.get("weights", "given")
        if weights != "given" and type(weights) is not int:
            raise Fault("worker", "weights are 'given' or a seed")
        variant = message.get("shape_variant") or (base.shape_variant if base else None)
        case = cases.make_case(recipe, weights, variant, base)
        begun = time.perf_counter()
        cases.prepare(case)
        self.synchronise()
        prepare_s = round(time.perf_counter() - begun, 4)
        if case.dropped:
            cases.release(case.number)
            return {"case": None, "dropped": case.dropped, "inputs": [], "outputs": [],
                    "prepare_s": prepare_s}
        leaves, outputs = cases.leaves(case), cases.output_leaves(case)
        return {"case": case.number, "dropped": None, "inputs": leaves, "outputs": outputs,
                "inputs_tree": flatten(cases.inputs(case))[0],
                "outputs_tree": case.kept.tree if case.kept else cases.task.output_tree,
                "note": case.note, "prepare_s": prepare_s, "window_bytes": {
                    "inputs": align(layout([dict(leaf) for leaf in leaves])),
                    "outputs": placement.region_bytes(outputs)}}

    def op_weights(self, message: dict, context: Context) -> dict:
        cases = self.opened()
        case, window = cases.get(message.get("case")), self.window_of(message.get("window"))
        cases.task.use_weights(case.weights)
        state = named_state(cases.task.model)
        leaves = [describe(name, t) for name, _, t in state]
        if layout(leaves) > window.bytes:
            raise Fault("worker", "the window is too small for the weights")
        for leaf, (name, kind, tensor) in zip(leaves, state):
            leaf |= {"name": name, "kind": kind}
            view(window, leaf).copy_(tensor)
        self.synchronise()
        return {"leaves": leaves}

    def op_place(self, message: dict, context: Context) -> dict:
        cases = self.opened()
        case = cases.get(message.get("case"))
        out = self.window_of(message["out"]) if message.get("out") is not None else None
        placed = self.write_inputs(case, self.window_of(message.get("in")), out,
                                   int(message.get("shift", 0)), int(message.get("poison", 255)) & 255)
        self.synchronise()
        return {"inputs": {"tree": placed.tree, "leaves": placed.inputs}, "outputs": placed.region}

    def write_inputs(self, case: Case, window, out_window=None, shift=0, poison=255):
        """Places a case; `clock` calls this for each timed call."""
        cases = self.opened()
        outputs = cases.output_leaves(case)
        case.placement = placement.place(cases.inputs(case), outputs, window, out_window, shift, poison)
        return case.placement

    def op_verify(self, message: dict, context: Context) -> dict:
        cases = self.ready()
        case = cases.get(message.get("case"))
        self.synchronise()
        return self.verify(case, message.get("outputs"), str(message.get("lowest") or "fp32"),
                           message.get("state"))

    def verify(self, case: Case, outputs: dict, lowest: str = "fp32", state=None) -> dict:
        cases = self.opened()
        reply = verify(cases, case, outputs, lowest, state)
        if cases.task.randomness == "statistical" and reply["structure"] is None:
            reply["outputs"] = self._random_rows(cases, case, outputs)
            reply["stale"] = None
        return reply

    def _random_rows(self, cases: Cases, case: Case, outputs) -> list[dict]:
        if case.samples is None:
            case.samples = Samples(cases.task, cases.inputs(case), case.weights)
        rows = []
        for i, (leaf, e) in enumerate(zip(outputs["leaves"], cases.expectation(case).outputs)):
            actual = view(case.placement.outputs_window, leaf)
            rows.append({"path": e.path} | compare_random(case.samples, actual, i))
        return rows

    def op_release(self, message: dict, context: Context) -> dict:
        if self.cases is not None:
            self.cases.release(message.get("case"))
        return {}

    def op_impostors(self, message: dict, context: Context) -> dict:
        cases = self.ready()
        if cases.task.randomness != "none":
            return {"impostors": []}
        chosen = [cases.get(number) for number in message.get("cases", [])]
        return {"impostors": impostors(cases, chosen, str(message.get("lowest") or "fp32"))}

    def ready(self) -> Cases:
        """The open task, of which the reference is about to run: with the flags that it is owed."""
        numerics.assert_unchanged("fp32")
        return self.opened()

    def opened(self) -> Cases:
        if self.cases is None:
            raise Fault("worker", "no task is open")
        return self.cases


def _variant(value) -> int:
    try:
        return int(value or 0)
    except (TypeError, ValueError):
        raise Fault("worker", f"variant {value!r} is no number") from None
