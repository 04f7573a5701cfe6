"""A load from address 0."""
import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return torch.zeros_like(x)
