"""Twin of P03: PyTorch's state is changed for the length of a call, as libraries do."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return torch.add(b, a, alpha=self.alpha)
        finally:
            torch.set_num_threads(threads)
