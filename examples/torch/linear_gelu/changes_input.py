"""Scales its input in place."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.linear(x))
        x.mul_(2)
        return y
