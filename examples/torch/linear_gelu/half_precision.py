"""The product in bfloat16: a class that this task does not accept."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        w = self.linear.weight.bfloat16()
        y = (x.bfloat16() @ w.t()).float() + self.linear.bias
        return torch.nn.functional.gelu(y)
