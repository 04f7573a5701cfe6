"""Judged after every hostile module, in the same process of the judge: it must be `correct`."""
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.add(torch.ones_like(x), x, alpha=2)
