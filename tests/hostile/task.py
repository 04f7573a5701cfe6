"""Twice x and one: as little as a task can be."""
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x + 1


def get_inputs():
    return [torch.randn(8, 33)]


def get_init_inputs():
    return []
