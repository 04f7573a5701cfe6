"""Twin of P14: code generation is how many kernels are made. What runs is what counts."""
import torch

_SOURCE = "def scaled_sum(a, b, alpha):\n    return {}\n"
_names = {"torch": torch}
exec(_SOURCE.format("torch.add(b, a, alpha=alpha)"), _names)


class ModelNew(torch.nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        return _names["scaled_sum"](a, b, self.alpha)
