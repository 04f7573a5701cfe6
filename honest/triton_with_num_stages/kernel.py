"""Twin of S04: a Triton kernel that is launched. A num_stages setting has been called a cheat before."""
import torch
import triton
import triton.language as tl


@triton.jit
def scaled_sum(a, b, y, n, alpha, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, alpha * tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        y = torch.empty_like(b)
        grid = (triton.cdiv(y.numel(), 1024),)
        scaled_sum[grid](a, b, y, y.numel(), self.alpha, BLOCK=1024, num_stages=3, num_warps=4)
        return y
