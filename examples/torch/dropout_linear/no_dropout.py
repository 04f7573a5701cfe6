"""Drops nothing."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, share):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.share = share

    def forward(self, x):
        y = self.linear(x)
        return y
