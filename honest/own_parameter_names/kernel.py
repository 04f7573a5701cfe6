"""Twin of N06 and N18: a constructor of its own, which draws the bias first and with another initialiser. Copying
the state makes it equal; replaying a seed would not."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.randn(outputs))
        self.kernel = torch.nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5)

    def forward(self, x):
        return torch.nn.functional.gelu(torch.nn.functional.linear(x, self.kernel, self.shift))
