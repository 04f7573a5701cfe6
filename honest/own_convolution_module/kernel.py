"""Twin of S02 and S05: a class of its own that is called Conv2d like PyTorch's, with another constructor that draws
another way, and does the work as a product of unfolded patches."""
import torch


class Conv2d(torch.nn.Module):
    def __init__(self, inputs, outputs, size):
        super().__init__()
        self.size = size
        self.weight = torch.nn.Parameter(torch.randn(outputs, inputs, size, size) / (inputs * size * size) ** 0.5)

    def forward(self, x):
        patches = torch.nn.functional.unfold(x, self.size, padding=self.size // 2)
        y = self.weight.flatten(1) @ patches
        return y.view(x.shape[0], -1, *x.shape[2:])


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(outputs)
        self.conv = Conv2d(inputs, outputs, 3)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))
