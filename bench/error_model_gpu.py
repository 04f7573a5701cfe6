#!/usr/bin/env python3
"""The error model of docs/numerics.md against PyTorch's own kernels on a GPU.

    python3 bench/error_model_gpu.py          # needs PyTorch and a GPU; ten seconds

For each operator and distribution: the largest |error| / bound, then rms error / rms limit, for
PyTorch in fp32, in TF32 (where it multiplies) and in bf16. Honest policies must stay below 1; bf16
on f32 data must not. The formulas are written a second time here, on purpose.
"""
import math

import torch
import torch.nn.functional as F

DEVICE = "cuda"
UNIT = 2.0**-24
TRIALS = 8


def draw(rows, columns, distribution):
    if distribution == "uniform":
        return torch.rand(rows, columns, device=DEVICE)
    x = torch.randn(rows, columns, device=DEVICE)
    return x * 5 if distribution == "wide" else x + 1000 if distribution == "offset" else x


def conv(x, w):
    return F.conv2d(x.view(4, 128, 28, 28), w.view(64, 128, 3, 3), padding=1).reshape(256, -1)


def attention(q, k, v):
    heads = [t.view(4, 1024, 64) for t in (q, k, v)]
    return F.scaled_dot_product_attention(*heads).reshape(4096, 64)


def cases():
    """Name, additions behind one element, function, input shapes, whether it multiplies matrices."""
    for k in (64, 767, 4096, 16384):
        for d in ("normal", "uniform", "offset"):
            yield f"matmul {k} {d}", k, torch.matmul, [(512, k, d), (k, 384, d)], True
    for n in (511, 4096, 65536):
        for d in ("normal", "uniform", "offset", "wide"):
            rows = [(64, n, d)]
            yield f"sum {n} {d}", n, lambda x: x.sum(-1), rows, False
            yield f"softmax {n} {d}", n, lambda x: x.softmax(-1), rows, False
            yield f"layer_norm {n} {d}", 2 * n, lambda x: F.layer_norm(x, x.shape[-1:]), rows, False
            yield f"logsumexp {n} {d}", n, lambda x: x.logsumexp(-1), rows, False
            yield f"var {n} {d}", 2 * n, lambda x: x.var(-1), rows, False
            yield f"cumsum {n} {d}", n, lambda x: x.cumsum(-1), rows, False
    unary = [F.gelu, F.silu, F.mish, F.softplus, F.elu, F.selu, F.logsigmoid, torch.tanh, torch.erf,
             torch.expm1, torch.sin, torch.exp]
    for d in ("normal", "wide"):
        for f in unary:
            yield f"{f.__name__} {d}", 1, f, [(512, 1000, d)], False
    for d in ("normal", "uniform"):
        yield f"conv2d {d}", 1152, conv, [(4, 128 * 784, d), (64, 1152, d)], True
        yield f"attention {d}", 1024 + 64, attention, [(4096, 64, d)] * 3, True


def sensitivity(f, inputs, y, amount):
    """Hadamard-signed perturbation of every operand and of the result."""
    signs = torch.tensor([[(-1.0) ** bin(row & t).count("1") for t in range(TRIALS)]
                          for row in range(TRIALS)], device=DEVICE, dtype=torch.float64)

    def source(t):
        rows = torch.randint(1, TRIALS, t.shape, device=DEVICE)
        return rows, torch.randint(0, 2, t.shape, device=DEVICE) * 2 - 1

    sources, last = [source(x) for x in inputs], source(y)
    total = torch.zeros_like(y)
    for t in range(TRIALS):
        column = signs[:, t]
        moved = [x * (1 + amount * column[r] * s) for x, (r, s) in zip(inputs, sources)]
        total += (f(*moved) * (1 + amount * column[last[0]] * last[1]) - y) ** 2
    return (total / TRIALS).sqrt() / amount


def rms(t):
    return t.pow(2).mean().sqrt()


def main():
    torch.manual_seed(1)
    for name, n, f, shapes, multiplies in cases():
        inputs = [draw(*s) for s in shapes]
        doubles = [x.double() for x in inputs]
        y, amount = f(*doubles), UNIT * (2 + math.sqrt(n))
        s = sensitivity(f, doubles, y, amount)
        scale = y.pow(2).mean(-1, keepdim=True).sqrt() if y.dim() > 1 else rms(y)
        words = []
        for policy in ("fp32", "tf32", "bf16"):
            if policy == "tf32" and not multiplies:
                continue
            torch.backends.cuda.matmul.allow_tf32 = policy == "tf32"
            torch.backends.cudnn.allow_tf32 = policy == "tf32"
            given = [x.bfloat16() for x in inputs] if policy == "bf16" else inputs
            error = (f(*given).double() - y).abs()
            unit = max(amount, 2.0**-11) if multiplies and policy != "fp32" else amount
            bound = unit * (8 * s + 4 * scale) + UNIT * y.abs() + 2.0**-126
            limit = 2 * unit * rms(s) + 0.6 * UNIT * rms(y)
            words.append(f"{policy} {(error / bound).max():.3g} {rms(error) / limit:.3g}")
        print(f"{name:28}", "   ".join(words))


if __name__ == "__main__":
    main()
