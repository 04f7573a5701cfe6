"""Two layers in bfloat16: what lies between them is rounded too."""
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 2 * width, dtype=torch.bfloat16)
        self.down = torch.nn.Linear(2 * width, width, dtype=torch.bfloat16)

    def forward(self, x):
        return self.down(torch.nn.functional.silu(self.up(x)))


def get_inputs():
    return [torch.rand(32, 128, dtype=torch.bfloat16)]


def get_init_inputs():
    return [128]
