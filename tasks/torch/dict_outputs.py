"""Outputs nested in a dict and a tuple, of several types."""
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        values, indices = torch.topk(x, 5, dim=-1)
        return {"top": (values, indices), "mean": x.mean(-1), "positive": x > x.mean()}


def get_inputs():
    return [torch.rand(19, 257)]


def get_init_inputs():
    return []
