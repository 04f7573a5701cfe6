"""GELU by its tanh approximation: off by up to 5e-4, which no rounding explains."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x), approximate="tanh")
