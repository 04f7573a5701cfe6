"""Other names, the same shapes: given by shape, and right."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(outputs, inputs))
        self.b = torch.nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return torch.nn.functional.gelu(x @ self.w.t() + self.b)
