"""Twin of M04 and N13: rows longer than a block are summed in pieces and the pieces added up, shorter ones at once:
another order by shape, and right for each."""
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, piece=4096):
        top = x.amax(1, keepdim=True)
        e = (x - top).exp()
        if x.shape[1] <= piece:
            return e / e.sum(1, keepdim=True)
        return e / torch.stack([part.sum(1) for part in e.split(piece, dim=1)]).sum(0).unsqueeze(1)
