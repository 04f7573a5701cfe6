"""Transposed convolution, Mish, a scale."""
import torch


class Model(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = torch.nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1)

    def forward(self, x):
        return torch.nn.functional.mish(self.conv(x)) * 1.5


def get_inputs():
    return [torch.rand(2, 8, 15, 17)]


def get_init_inputs():
    return [8, 12]
