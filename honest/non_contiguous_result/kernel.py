"""Twin of M11: the output is a transposed view of memory of its own. Strides are no part of the values."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        y = self.linear.weight @ x.t() + self.linear.bias[:, None]
        return torch.nn.functional.gelu(y).t()
