"""Its own dropout: other elements fall, as often and as scaled as the reference's."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, share):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.share = share

    def forward(self, x):
        y = self.linear(x)
        keep = torch.rand_like(y) >= self.share
        return torch.where(keep, y / (1 - self.share), torch.zeros_like(y))
