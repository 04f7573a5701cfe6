"""Twin of T08 and T09: the autotuner launches the kernel many times in the first call and once in later ones."""
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block in (256, 1024) for warps in (2, 4)],
    key=["n"],
)
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
        n = y.numel()
        scaled_sum[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](a, b, y, n, self.alpha)
        return y
