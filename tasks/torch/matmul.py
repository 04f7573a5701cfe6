"""Matrix product of irregular sizes."""
import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(255, 767), torch.rand(767, 511)]


def get_init_inputs():
    return []
