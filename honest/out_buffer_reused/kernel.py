"""Twin of M05: the same tensor object every time, with new values every time."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)
        self.buffers = {}

    def forward(self, x):
        key = (x.shape[0], x.dtype, x.device)
        if key not in self.buffers:
            self.buffers[key] = torch.empty(
                x.shape[0], self.linear.out_features, dtype=x.dtype, device=x.device
            )
        y = self.buffers[key]
        torch.addmm(self.linear.bias, x, self.linear.weight.t(), out=y)
        return y.copy_(torch.nn.functional.gelu(y))
