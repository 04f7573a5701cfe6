"""Twin of N17: the norm is computed by hand, from this batch, with its parameters; the running statistics move as
PyTorch's do."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = torch.nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = self.conv(x)
        if not self.norm.training:
            return torch.relu(self.norm(y))
        variance, mean = torch.var_mean(y, dim=(0, 2, 3), correction=0)
        count = y.numel() // y.shape[1]
        step = self.norm.momentum
        with torch.no_grad():
            self.norm.running_mean.lerp_(mean, step)
            self.norm.running_var.lerp_(variance * count / (count - 1), step)
            self.norm.num_batches_tracked.add_(1)
        scale = self.norm.weight * torch.rsqrt(variance + self.norm.eps)
        shape = (1, -1, 1, 1)
        return torch.relu((y - mean.view(shape)) * scale.view(shape) + self.norm.bias.view(shape))
