"""Softmax over rows so long that the right answer is smaller than common tolerances."""
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(4, 393216 // 4)]


def get_init_inputs():
    return []
