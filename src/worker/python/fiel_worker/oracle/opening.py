"""Opening a task, and the windows: mixins of Oracle."""

import hashlib
import time

import torch

from .. import numerics
from ..channel import Context, Fault
from ..values import GUARD_BYTES, align, layout
from ..window import Window, give_back
from .cases import Cases
from .degenerate import degenerate
from .model_state import named_state
from .placement import region_bytes
from .probes import Recipe
from .randomness import examine
from .task import Task
from .task_module import TaskModule

_NARROW_NAMES = {torch.float16: "fp16", torch.bfloat16: "bf16"}


class Windows:
    def op_window(self, message: dict, context: Context) -> dict:
        size = message.get("bytes")
        if type(size) is not int or not 0 <= size < 1 << 42:
            raise Fault("worker", "a window needs a size in bytes")
        window = Window.create(self.device, size)
        self.last_window += 1
        self.windows[self.last_window] = window
        context.give(window.descriptor)
        return {"window": self.last_window, "bytes": size}

    def op_drop_window(self, message: dict, context: Context) -> dict:
        window = self.windows.pop(message.get("window"), None)
        if window is None:
            raise Fault("worker", f"there is no window {message.get('window')!r}")
        for case in self.cases.all.values() if self.cases else ():
            if case.placement and window in (case.placement.inputs_window, case.placement.outputs_window):
                case.placement = None
        window.close()
        return {}

    def op_reset(self, message: dict, context: Context) -> dict:
        """As it was before the first task, for the next one."""
        for clock in self.__dict__.pop("clocks", {}).values():
            clock.leave()
        self.__dict__.pop("slot_sets", None)
        self.cases = None
        numerics.apply("fp32")
        for window in self.windows.values():
            window.close()
        self.windows.clear()
        give_back(self.device)
        return {}

    def window_of(self, number) -> Window:
        window = self.windows.get(number)
        if window is None:
            raise Fault("worker", f"there is no window {number!r}")
        return window


class Opening:
    def op_open_task(self, message: dict, context: Context) -> dict:
        module = TaskModule.load(
            message.get("path"), message.get("reference"), self.device,
            message.get("mode", "train"), int(message.get("init_seed", 0)))
        context.progress("building the reference")
        task = Task(module)
        numerics.apply("fp32")  # whatever the task's file and its constructor set
        task.randomness, void = "none", None
        if message.get("domains") is not None:
            task.declare(message["domains"])
        task.settle_domains()
        task.randomness, void = examine(task)
        if void is None and task.randomness == "none":
            void, warning = degenerate(task)
            task.warnings += [warning] if warning else []
        task.find_variants(int(message.get("small_bytes") or 0))
        self.cases = Cases(task)
        prepare_s = None if void else self._first_case(context)
        weights = named_state(task.model)
        weight_bytes = sum(t.numel() * t.element_size() for _, _, t in weights)
        name = (message.get("path") or "native").rsplit("/", 1)[-1].removesuffix(".py")
        leaves = [dict(leaf) for leaf in task.inputs]
        numerics.assert_unchanged("fp32")
        return {
            "name": name, "digest": module.digest,
            "inputs": [leaf | {"domain": d.describe()} for leaf, d in zip(task.inputs, task.domains)],
            "outputs": task.outputs, "inputs_tree": task.tree,
            "writes_inputs": task.writes_inputs,
            "parameters": sum(p.numel() for p in task.model.parameters()),
            "weight_bytes": weight_bytes, "input_bytes": task.input_bytes,
            "output_bytes": task.output_bytes,
            "window_bytes": {
                "inputs": align(layout(leaves)), "outputs": region_bytes(task.outputs),
                "weights": align(weight_bytes + (len(weights) + 1) * (GUARD_BYTES + 256)),
            },
            "floor": self._floor(task),
            "shape_variants": [
                {"name": v.name, "note": v.note, "input_bytes": v.input_bytes(task.inputs)}
                for v in task.variants.values()],
            "warnings": list(dict.fromkeys(task.warnings)),
            "randomness": "void" if void else task.randomness, "void": void, "prepare_s": prepare_s,
        }

    def _first_case(self, context: Context) -> float | None:
        """Seconds that a case costs, from one that nobody judges: the judge plans its probes by it."""
        context.progress("preparing a first case")
        begun = time.perf_counter()
        try:
            case = self.cases.make_case(Recipe("task-inputs", 0, 1))
            self.cases.prepare(case)
        except Fault as fault:
            if fault.kind != "memory":
                raise
            return None  # smaller shapes may fit
        finally:
            self.cases.release("all")
        self.synchronise()
        return round(time.perf_counter() - begun, 4)

    def _floor(self, task: Task) -> dict:
        """Every byte once, every operation once: no honest call is faster. Buffers are left out:
        a mask need not be read."""
        read = sum(p.numel() * p.element_size() for p in task.model.parameters())
        flops = dict.fromkeys(("fp32", "tf32able", "fp16", "bf16"), 0.0)
        for kind, count in task.count_operations().items():
            narrow = _NARROW_NAMES.get(task.output_dtypes[0])
            name = narrow or ("tf32able" if kind == "contracting" else "fp32")
            flops[name] += count
        return {"bytes": read + task.input_bytes + task.output_bytes, "flops": flops}
