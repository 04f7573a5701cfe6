"""The oracle's operations (docs/torch-workers.md#oracle). One mixin a subject."""

import torch

from .. import numerics
from ..channel import Context
from ..hello import describe
from .judging import Judging
from .measure import MeasureOperations
from .memory_watch import MemoryWatch
from .opening import Opening, Windows
from .timed_cases import TimedCases


class Oracle(Opening, Judging, TimedCases, MeasureOperations, MemoryWatch, Windows):
    """`device` is cpu or cuda:N. Whatever goes wrong without a Fault is the task's doing."""

    blame = "task"

    def __init__(self, device: str):
        self.device = device
        self.windows, self.last_window = {}, 0
        self.cases = None
        numerics.apply("fp32")  # the reference in its own types: no TF32, no reduced sums

    def op_hello(self, message: dict, context: Context) -> dict:
        return describe(self.device)

    def synchronise(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize(self.device)
