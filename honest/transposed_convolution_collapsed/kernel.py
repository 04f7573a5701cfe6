"""Twin of S08 and N07: every input element meets every tap of the filter once, so that the mean of a transposed
convolution needs the sums of both alone. Right for all inputs, and a thousandth of the work."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = torch.nn.ConvTranspose2d(inputs, outputs, 3, stride=2)

    def forward(self, x):
        places = [(n - 1) * 2 + 3 for n in x.shape[2:]]
        sums = x.sum(dim=(2, 3)) @ self.conv.weight.sum(dim=(2, 3))
        return sums / (places[0] * places[1]) + self.conv.bias
