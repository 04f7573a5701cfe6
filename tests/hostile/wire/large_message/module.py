"""Outputs whose description is almost 4 MiB of text."""
import sys

import torch


def judge_channel():
    """The runner's own channel and the number of the request that is being answered."""
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["channel"], frame.f_locals["sequence"]


def patch():
    from fiel_worker.runner import outputs

    outputs.describe = lambda result, device: ({"value": 3_900_000 * "x"}, [], [])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        patch()
        return torch.zeros_like(x)
