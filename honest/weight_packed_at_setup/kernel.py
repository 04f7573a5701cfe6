"""Twin of M08: set-up is declared by being done where set-up belongs. The constructor packs; its time and what it
keeps on the device are in the verdict. A write to the weight raises its version, and the next call packs anew."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)
        self.pack()

    def pack(self):
        self.version = self.linear.weight._version
        self.packed = self.linear.weight.detach().t().contiguous()

    def forward(self, x):
        if self.packed.device != x.device or self.version != self.linear.weight._version:
            self.pack()
        return torch.nn.functional.gelu(torch.addmm(self.linear.bias, x, self.packed))
