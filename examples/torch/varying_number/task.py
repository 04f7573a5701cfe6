"""A number among forward's arguments that differs from draw to draw."""
import random

import torch


class Model(torch.nn.Module):
    def forward(self, x, alpha):
        return alpha * x


def get_inputs():
    return [torch.rand(16, 33), random.uniform(0.5, 2.0)]


def get_init_inputs():
    return []
