import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor scaled_sum(torch::Tensor a, torch::Tensor b, double alpha) {
  return torch::add(b, a, alpha);
}
"""
extension = load_inline(name="scaled_sum", cpp_sources=SOURCE, functions=["scaled_sum"])


class ModelNew(torch.nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        return extension.scaled_sum(a, b, self.alpha)
