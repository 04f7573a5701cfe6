"""Twin of M08: packing is reused as long as the weight's bytes equal those that were packed, and honoured when
they change, however they change."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)
        self.seen = self.packed = None

    def forward(self, x):
        if self.seen is None or not torch.equal(self.seen, self.linear.weight):
            self.seen = self.linear.weight.detach().clone()
            self.packed = self.seen.t().contiguous()
        return torch.nn.functional.gelu(torch.addmm(self.linear.bias, x, self.packed))
