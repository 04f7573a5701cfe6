"""Twin of P01 and P02: a look at the stack for a log line, which decides nothing."""
import sys

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha
        self.callers = set()

    def forward(self, a, b):
        frame = sys._getframe(1)
        name = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if name not in self.callers:
            self.callers.add(name)
            print("called from", name)
        return self.alpha * a + b
