"""Twin of P03 and P04: modes of the whole process are set as its author likes them. They are those of its own process,
and the values are right under each."""
import torch

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
torch.set_float32_matmul_precision("highest")
torch.use_deterministic_algorithms(True, warn_only=True)
torch.set_flush_denormal(False)
torch.set_printoptions(precision=3)
torch.manual_seed(0)


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs, dtype=torch.float32)

    def forward(self, x):
        torch.set_grad_enabled(True)
        return torch.nn.functional.gelu(self.linear(x)).detach()
