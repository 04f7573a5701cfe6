"""Normalises by hand and updates the running statistics as BatchNorm does: right."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = torch.nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = self.conv(x)
        mean, var = y.mean((0, 2, 3)), y.var((0, 2, 3), unbiased=False)
        n, m = y.numel() / y.shape[1], self.norm.momentum
        with torch.no_grad():
            self.norm.running_mean.mul_(1 - m).add_(m * mean)
            self.norm.running_var.mul_(1 - m).add_(m * var * n / (n - 1))
            self.norm.num_batches_tracked.add_(1)
        shape = (1, -1, 1, 1)
        z = (y - mean.view(shape)) * torch.rsqrt(var + self.norm.eps).view(shape)
        return torch.relu(z * self.norm.weight.view(shape) + self.norm.bias.view(shape))
