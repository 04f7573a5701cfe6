"""Cases: inputs with a purpose, and what they must answer. Both are made again when memory is short.

    case = cases.make_case(Recipe("outliers", 0, seed), weights="given")
    cases.expectation(case)          # computed once, kept while there is room
    cases.inputs(case)
"""

import dataclasses
import itertools

import torch

from .. import numerics
from ..channel import Fault, is_out_of_memory
from ..values import describe, flatten, rebuild
from . import probes
from .batch import batch_of
from .bound import accepted, compare
from .expectation import Expectation, expect, expect_in_rows, expect_own_types
from .model_state import named_state, wide_copy
from .probes import Recipe
from .slices import all_finite
from .task import Task

_AMPLITUDES = (1.0, 0.1, 0.01)
_KEPT_SHARE = 0.25  # of the device's memory, for inputs and expectations that may be needed again
_KEPT_BYTES_CPU = 2 << 30
_WORKING_BYTES_CPU = 4 << 30
_SLICE_BYTES = 16 << 30  # larger evaluations are made a part of the batch at a time
# In float64, what the CPU evaluates beside a GPU in about a second.
_CROSS_CHECKED_BYTES, _CROSS_CHECKED_WEIGHTS, _CROSS_CHECKED_OPERATIONS = 32 << 20, 256 << 20, 500
_CROSS_CHECKED_FLOPS = 20e9  # about a second of a few cores in float64
_MOST_WIDENED = 64  # beyond, there is something else than rounding
WORKING_SET = 6  # wide tensors of the task's size that exist at a time


@dataclasses.dataclass(eq=False)
class Case:
    number: int
    recipe: Recipe
    weights: object = "given"  # or a seed
    shape_variant: str | None = None
    base: "Case | None" = None
    dropped: str | None = None
    path_changed: str | None = None
    placement: object = None  # placement.Placement of the latest `place`
    factors: list[tuple[float, float]] = dataclasses.field(default_factory=list)  # as ErrorModel's, an output and buffer
    note: str | None = None
    kept_inputs: object = None
    kept: Expectation | None = None
    samples: object = None  # randomness.Samples

    @property
    def run_seed(self) -> int:
        return probes.derive(self.recipe.seed, 99)


class Cases:
    def __init__(self, task: Task):
        self.task = task
        self._numbers = itertools.count(1)
        self.all: dict[int, Case] = {}
        self._room = self._room_bytes()
        self._checked = False  # against the CPU

    def make_case(self, recipe: Recipe, weights="given", shape_variant=None, base=None,
                  remember: bool = True) -> Case:
        """A case whose inputs exist; what it must answer is computed when asked for. `remember`
        false: for one timed call, dropped by whoever asked."""
        if shape_variant and shape_variant not in self.task.variants:
            raise Fault("worker", f"the task has no shape variant {shape_variant!r}")
        case = Case(next(self._numbers), recipe, weights, shape_variant, base)
        if remember:
            self.all[case.number] = case
        return case

    def get(self, number) -> Case:
        case = self.all.get(number)
        if case is None:
            raise Fault("worker", f"there is no case {number!r}")
        return case

    def release(self, number) -> None:
        if number == "all":
            self.all.clear()
        else:
            self.all.pop(number, None)

    def prepare(self, case: Case) -> None:
        """Finds the amplitude at which the reference has an answer, or says why there is none."""
        retreat = case.recipe.probe in ("offset-mean", "scale-range", "outliers", "mixed-signs")
        why = None
        for amplitude in _AMPLITUDES if retreat else (1.0,):
            case.recipe = dataclasses.replace(case.recipe, amplitude=amplitude)
            case.kept_inputs = case.kept = None
            inputs = self.inputs(case)
            if inputs is None:
                case.dropped = "the probe does not apply to these inputs"
                return
            why = self._complaint(case, inputs)
            if why is None:
                if amplitude != 1.0:
                    case.note = f"milder: amplitude {amplitude}"
                return
        case.dropped = why
        case.kept_inputs = case.kept = None

    def _complaint(self, case: Case, inputs):
        special = case.recipe.probe == "special-values"
        self.task.use_weights(case.weights)
        complaint = self.task.complaint(inputs)
        if complaint and not (special and "not finite" in complaint):
            return complaint
        if self.task.randomness != "none":
            return "special values are not compared where the reference is random" if special else None
        try:
            expectation = self.expectation(case)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            if is_out_of_memory(error):
                raise
            if isinstance(error, Fault):
                raise
            return f"the float64 reference raises {type(error).__name__}: {error}"[:200]
        if not special:
            for e in expectation.outputs:
                if e.reference.is_floating_point() and not all_finite(e.reference):
                    return f"the float64 reference is not finite at '{e.path}'"
        return self._own_error(case, expectation) or self._cross_check(case, expectation)

    def _cross_check(self, case: Case, expectation: Expectation):
        """Once a task, at the first shapes that are small: float64 on the device and on the CPU are
        other code. A task of large shapes is checked at a variant of it."""
        if self._checked or self.task.device == "cpu":
            return None
        tree, leaves = flatten(self.inputs(case))
        values = [t for _, t in leaves] + [e.reference for e in expectation.outputs]
        model = self.task.model64(case.weights)
        if not fits_the_cpu(values, [t for _, _, t in named_state(model)], expectation.run):
            return None
        self._checked = True
        try:
            found = expect(wide_copy(model).cpu(), rebuild(tree, [t.cpu() for _, t in leaves]),
                           self.task.output_dtypes, "cpu", case.run_seed, False, self.task.narrow,
                           measure=False)
        except (RuntimeError, ValueError, IndexError, TypeError):
            return None  # a model that names its device, or has no float64 there: that is no doubt of the answer
        return disagreement(expectation, found)

    def _own_error(self, case: Case, expectation: Expectation):
        """PyTorch itself must pass, and use no more than half of a bound: an honest kernel that rounds in
        another order would be accused by what is narrower. So must its products in TF32."""
        uses = self._uses_of_bounds(case, expectation, "fp32")
        if isinstance(uses, str):
            return uses
        worst = max(uses[: len(expectation.outputs)], default=0.0)
        if worst > 1 and (case.recipe.probe != "task-inputs" or worst > _MOST_WIDENED):
            return f"PyTorch's own result is {worst:.3g} times beyond the bound"
        if worst > 1:
            case.note = f"PyTorch's own result is {worst:.3g} times beyond the bound: widened"
        case.factors = [(max(1.0, 2 * use), 1.0) for use in uses]
        self._widen(case, expectation)
        return self._own_error_in_tf32(case, expectation) if self._has_tf32(expectation) else None

    def _own_error_in_tf32(self, case: Case, expectation: Expectation):
        numerics.apply("tf32")
        try:
            uses = self._uses_of_bounds(case, expectation, "tf32")
        finally:
            numerics.apply("fp32")
        if isinstance(uses, str):
            return uses
        worst = max(uses[: len(expectation.outputs)], default=0.0)
        if worst > _MOST_WIDENED:
            return f"PyTorch's own result in TF32 is {worst:.3g} times beyond the bound"
        if worst > 1:
            case.note = f"PyTorch's own result in TF32 is {worst:.3g} times beyond the bound: widened for TF32"
        case.factors = [(factor, max(1.0, 2 * use)) for (factor, _), use in zip(case.factors, uses)]
        self._widen(case, expectation)
        return None

    def _has_tf32(self, expectation: Expectation) -> bool:
        return self.task.device != "cpu" and expectation.run.contracts and torch.float32 in self.task.output_dtypes

    def _uses_of_bounds(self, case: Case, expectation: Expectation, lowest: str):
        """The share of its bound that PyTorch's own result takes, of each output and then each buffer, or why
        it has none."""
        buffers, uses = {}, []
        _, outputs = self.task.run(self.inputs(case), case.run_seed, buffers)
        for (path, actual), e in zip(outputs, expectation.outputs):
            if actual.shape != e.reference.shape:
                return "the float64 reference has another shape"
            report = compare(e.reference, actual, e.model, lowest)
            if report["nan_mismatches"] or report["infinity_mismatches"]:
                return f"PyTorch's own result in {str(actual.dtype)[6:]} is not finite at '{path}'"
            uses.append(use_of_bound(report))
        for e in expectation.state:
            actual = buffers.get(e.path)
            comparable = actual is not None and actual.shape == e.reference.shape
            use = use_of_bound(compare(e.reference, actual, e.model, lowest)) if comparable else 0.0
            uses.append(min(use, _MOST_WIDENED))
        return uses

    def _widen(self, case: Case, expectation: Expectation) -> None:
        for e, factors in zip(expectation.outputs + expectation.state, case.factors):
            e.model.factor, e.model.lower_factor = factors

    def inputs(self, case: Case):
        """The private copy; the same bytes whenever it is made."""
        if case.kept_inputs is None:
            self._make_room(self.task.input_bytes)
            case.kept_inputs = self._made(case)
        return case.kept_inputs

    def _made(self, case: Case):
        if case.base is None:
            return self.task.draw(case.recipe, case.shape_variant)
        base = self.inputs(case.base)
        if base is None or case.recipe.probe != "one-element":
            return base
        changed = probes.change_one_element(
            base, self.task.domains_of(case.shape_variant), case.recipe.seed)
        if changed is None:
            return None
        case.path_changed = changed[1]
        return changed[0]

    def expectation(self, case: Case) -> Expectation:
        if case.kept is None:
            case.kept = self.expect(case, self.inputs(case))
        return case.kept

    def expect(self, case: Case, inputs) -> Expectation:
        """What these inputs must answer under the case's weights and bound."""
        self._make_room(2 * self.task.input_bytes + 12 * self.task.output_bytes)
        expectation = self._evaluate(case, inputs)
        self._widen(case, expectation)
        return expectation

    def _evaluate(self, case: Case, inputs) -> Expectation:
        model = self.task.model64(case.weights)
        systematic = self.recipe_of_values(case).probe in probes.SYSTEMATIC
        arguments = (self.task.output_dtypes, self.task.device, case.run_seed, systematic,
                     self.task.narrow)
        wanted, free = WORKING_SET * self.task.wide_bytes, self.free_bytes()
        room = min(free, _SLICE_BYTES)
        if wanted > room:
            places, rows = batch_of(self.task, inputs, case.weights)
            model = self.task.model64(case.weights)
            step = max(1, int(rows * room / (2 * wanted)))
            if rows > step:
                return expect_in_rows(model, inputs, places, rows, step, *arguments)
        try:
            return expect(model, inputs, *arguments)
        except RuntimeError as error:
            if is_out_of_memory(error):
                text = f"the float64 reference needs about {wanted} bytes, {free} are free"
                raise Fault("memory", text, str(error)) from None
            if not _no_float64(error):
                raise
            case.note = f"no float64 reference, the task's own types stand in: {error}"[:200]
            tree, outputs = self.task.run(inputs, case.run_seed)
            return expect_own_types(outputs, tree, systematic)

    def free_bytes(self) -> int:
        """What one evaluation may take."""
        if self.task.device == "cpu":
            return _WORKING_BYTES_CPU
        device = self.task.device
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(0.8 * (torch.cuda.mem_get_info(device)[0] + cached))

    def recipe_of_values(self, case: Case) -> Recipe:
        return case.recipe if case.base is None else self.recipe_of_values(case.base)

    def leaves(self, case: Case) -> list[dict]:
        return [describe(p, t) for p, t in flatten(self.inputs(case))[1]]

    def output_leaves(self, case: Case) -> list[dict]:
        """Shapes and types of the outputs of this case, with the reference's own strides."""
        if case.shape_variant is None:
            return [dict(leaf) for leaf in self.task.outputs]
        self.task.use_weights(case.weights)
        _, outputs = self.task.run(self.inputs(case), case.run_seed)
        return [describe(p, t) for p, t in outputs]

    def _make_room(self, wanted: int) -> None:
        """Forgets the oldest: whatever is forgotten is made again."""
        for case in self.all.values():
            if self._kept_bytes() + wanted <= self._room:
                return
            case.kept_inputs = case.kept = None

    def _kept_bytes(self) -> int:
        total = 0
        for case in self.all.values():
            total += case.kept.nbytes() if case.kept is not None else 0
            if case.kept_inputs is not None and (case.base is None or case.recipe.probe == "one-element"):
                total += self.task.input_bytes
        return total

    def _room_bytes(self) -> int:
        if self.task.device == "cpu":
            return _KEPT_BYTES_CPU
        return int(_KEPT_SHARE * torch.cuda.mem_get_info(self.task.device)[1])


def fits_the_cpu(values, weights, run) -> bool:
    """Is a case of these inputs and outputs, weights and work small? By its own shapes, which may be a
    variant's."""
    wide = lambda tensors: 8 * sum(t.numel() for t in tensors)
    return (wide(values) < _CROSS_CHECKED_BYTES and wide(weights) < _CROSS_CHECKED_WEIGHTS
            and run.operations < _CROSS_CHECKED_OPERATIONS
            and sum(run.flops.values()) < _CROSS_CHECKED_FLOPS)


def use_of_bound(report: dict) -> float:
    limit = report["rms_limit"]
    return max(report["worst_ratio"], report["rms_error"] / limit if limit > 0 else 0.0)


def disagreement(expectation: Expectation, other: Expectation):
    """The first output at which two float64 evaluations differ by more than their rounding, or None."""
    for e, again in zip(expectation.outputs, other.outputs):
        doubles = dataclasses.replace(e.model, dtype=e.reference.dtype, unit=2.0**-53, factor=16.0)
        if not accepted(compare(e.reference, again.reference.to(e.reference.device), doubles)):
            return f"float64 on the device and on the CPU disagree at '{e.path}'"
    return None


def _no_float64(error: RuntimeError) -> bool:
    """Does an operator say that it knows no float64?"""
    text = str(error).lower()
    return "not implemented for" in text or "double" in text or "float64" in text
