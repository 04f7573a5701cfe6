"""Reference and candidate, side by side in one process."""

import sys

import torch

from ..channel import Fault
from ..runner import extension, sources
from .nesting import tensors, transform
from .rules import HALVES, Rules


class Pair:
    """task, reference, candidate; `precision` is that of the task's inputs."""

    def __init__(self, rules: Rules, task_path: str, candidate_path: str, device: str):
        self.rules, self.device = rules, device
        self.task = sources.import_file(task_path, f"fiel_task_{len(sys.modules)}", "task")
        self.get_inputs = self.task.get_inputs
        self.precision = precision_of(self.get_inputs())
        public_seed(rules)
        arguments = self.prepared(self.task.get_init_inputs())
        arguments = arguments if isinstance(arguments, (list, tuple)) else [arguments]
        public_seed(rules)
        with torch.no_grad():
            reference = self.task.Model(*arguments)
            self.build = extension.Build(device)
            made = self._candidate_class(candidate_path)
            public_seed(rules)
            candidate = made(*arguments)
            self.reference, self.candidate = self.placed(reference), self.placed(candidate)
            self._give_weights()

    def placed(self, module):
        cast = {"dtype": self.precision} if self.rules.casts_inputs else {}
        return module.to(self.device, **cast).train(self.rules.mode == "train")

    def _candidate_class(self, path: str):
        """KernelBench runs both sources in one namespace, Triton's excepted: names that the candidate
        defines are those of the task's functions from then on."""
        with open(path, encoding="utf-8", errors="replace") as file:
            source = file.read(sources.MAX_SOURCE_BYTES)
        if self.rules.shares_namespace and "triton" not in source:
            names = vars(self.task)
            exec(compile(source, path, "exec"), names)
        else:
            names = vars(sources.import_file(path, f"candidate_{len(sys.modules)}", "candidate"))
        if "ModelNew" not in names:
            raise Fault("candidate", f"{path.rsplit('/', 1)[-1]} defines no ModelNew")
        return names["ModelNew"]

    def _give_weights(self) -> None:
        """same-seed: both constructors drew from the seed, and that is all."""
        if self.rules.weights == "strict-load":
            self.candidate.load_state_dict(self.reference.state_dict())
        elif self.rules.weights == "loose-load":
            self.candidate.load_state_dict(self.reference.state_dict(), strict=False)

    def prepared(self, value):
        """Tensors on the device, cast to the precision where the protocol casts."""
        dtype = self.precision if self.rules.casts_inputs else None
        moved = (lambda t: t.to(device=self.device, dtype=dtype)) if dtype else (
            lambda t: t.to(self.device))
        if isinstance(value, (list, tuple)) and not self.rules.any_structure:
            # KernelBench converts the tensors of the list, not those nested deeper.
            return [moved(x) if isinstance(x, torch.Tensor) else x for x in value]
        return transform(value, moved)

    def inputs(self):
        value = self.get_inputs()
        value = value if isinstance(value, (list, tuple)) else [value]
        return self.prepared(value)


def precision_of(inputs) -> torch.dtype:
    """fp32, unless all floating inputs are of one half type."""
    floating = {t.dtype for t in tensors(inputs) if t.is_floating_point()}
    only = floating.pop() if len(floating) == 1 else torch.float32
    return only if only in HALVES else torch.float32


def public_seed(rules: Rules) -> None:
    if rules.seeding != "unseeded":
        torch.manual_seed(rules.seed)
