"""A scan over what a Boolean mask selects."""
import torch


class Model(torch.nn.Module):
    def forward(self, x, mask):
        return torch.cumsum(x * mask, dim=1)


def get_inputs():
    x = torch.rand(33, 1000)
    return [x, torch.randint(0, 2, x.shape).bool()]


def get_init_inputs():
    return []
