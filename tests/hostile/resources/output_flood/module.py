"""A hundred megabytes of text, from Python and from below it."""
import os
import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(800):
            sys.stdout.write(65_536 * "x")
            try:
                os.write(1, 65_536 * b"y")
            except OSError:
                pass
        return torch.zeros_like(x)
