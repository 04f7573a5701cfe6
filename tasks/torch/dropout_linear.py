"""Dropout that is live in train mode: judged by its statistics."""
import torch


class Model(torch.nn.Module):
    def __init__(self, width, share):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(share)

    def forward(self, x):
        return self.dropout(self.linear(x))


def get_inputs():
    return [torch.rand(128, 192)]


def get_init_inputs():
    return [192, 0.2]
