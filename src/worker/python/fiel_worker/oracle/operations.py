"""The oracle's operations (docs/torch-workers.md#oracle). One mixin a subject; the clock and the
machine's measurement add theirs where they are present."""

import importlib

import torch

from ..channel import Context
from ..hello import describe
from .judging import Judging
from .opening import Opening, Windows


def _mixin(module: str, name: str) -> type:
    try:
        return getattr(importlib.import_module(f".{module}", __package__), name)
    except ModuleNotFoundError as missing:
        if missing.name != f"{__package__}.{module}":
            raise
        return type(name, (), {})


class Oracle(Opening, Judging, Windows, _mixin("clock", "Clock"), _mixin("measure", "Measure")):
    """`device` is cpu or cuda:N. Whatever goes wrong without a Fault is the task's doing."""

    blame = "task"

    def __init__(self, device: str):
        self.device = device
        self.windows, self.last_window = {}, 0
        self.cases = None
        _strict_arithmetic()

    def op_hello(self, message: dict, context: Context) -> dict:
        return describe(self.device)

    def synchronise(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize(self.device)


def _strict_arithmetic() -> None:
    """The reference in its own types runs without TF32 and without reduced sums. One API only:
    PyTorch 2.9 and later raise where the two are mixed."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = False
