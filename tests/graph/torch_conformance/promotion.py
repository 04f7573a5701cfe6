"""Result dtypes of every pair of dtypes, as tensors with dimensions, of rank 0 and as numbers, and
the values where no rounding to a narrower type is involved (integers)."""

import itertools

import torch

from harness import Batch, Case, Operator

KINDS = [torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8,
         torch.uint8, torch.bool]


def values(dtype, rank):
    x = torch.tensor([1, 0, 3]) if rank else torch.tensor(2)
    return x.to(dtype)


def pairs():
    for a, b in itertools.product(KINDS, KINDS):
        for rank_a, rank_b in ((1, 1), (1, 0), (0, 1), (0, 0)):
            yield values(a, rank_a), values(b, rank_b)
    for a in KINDS:
        for number in (2, 2.5, True):
            for rank in (1, 0):
                yield values(a, rank), number


OPERATIONS = {
    "add": torch.add, "mul": torch.mul, "div": torch.div, "eq": torch.eq,
    "maximum": lambda a, b: torch.maximum(a, b if isinstance(b, torch.Tensor) else torch.tensor(b)),
    "where": lambda c, a, b: torch.where(c, a, b),
}


def check(evaluator):
    """The mismatches, one line each."""
    batch = Batch()
    for name, f in OPERATIONS.items():
        for a, b in pairs():
            if name == "maximum" and not isinstance(b, torch.Tensor):
                continue
            args = (torch.tensor([True, False, True]), a, b) if name == "where" else (a, b)
            try:
                want = f(*args)
            except Exception:
                continue  # PyTorch refuses, for instance bool minus bool
            case = Case(*args, types=[want.dtype])
            if want.dtype.is_floating_point:
                wide = [t.double() if isinstance(t, torch.Tensor) and (name == "div" or t.dtype != torch.bool) else t for t in args]
                batch.add(name, Operator(None, lambda *_, f=f, wide=wide: f(*wide).double()), case)
            else:
                batch.add(name, Operator(None, f), case)
    return batch.run(evaluator)
