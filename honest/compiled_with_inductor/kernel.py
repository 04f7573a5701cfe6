"""Twin of S06: the framework's compiler does the work, as the track allows."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)
        self.fused = torch.compile(lambda x, w, b: torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b)))

    def forward(self, x):
        return self.fused(x, self.linear.weight, self.linear.bias)
