import torch


class Model(torch.nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = torch.nn.Conv3d(3, channels, (3, 5, 7), bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(2, 3, 16, 16, 16)]


def get_init_inputs():
    return [16]
