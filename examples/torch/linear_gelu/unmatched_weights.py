"""Keeps its weight transposed under a name of its own: it cannot be given the reference's."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.packed = torch.nn.Parameter(torch.randn(inputs, outputs))
        self.bias = torch.nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return torch.nn.functional.gelu(x @ self.packed + self.bias)
