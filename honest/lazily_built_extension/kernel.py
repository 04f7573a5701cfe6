"""Twin of T08 and P15: the first call takes seconds, for a compiler. The extension replaces nothing."""
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor scaled_sum(torch::Tensor a, torch::Tensor b, double alpha) {
  return torch::add(b, a, alpha);
}
"""
_built = []


def extension():
    if not _built:
        _built.append(load_inline(name="scaled_sum", cpp_sources=SOURCE, functions=["scaled_sum"]))
    return _built[0]


class ModelNew(torch.nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        return extension().scaled_sum(a, b, self.alpha)
