"""Twin of P16: a fallback with a condition that is written down, and no except clause that swallows faults."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        if a.is_contiguous() and b.is_contiguous() and a.shape == b.shape:
            return torch.add(b.view(-1), a.view(-1), alpha=self.alpha).view(a.shape)
        return self.alpha * a + b
