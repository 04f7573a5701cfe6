"""Random numbers that forward draws itself, as the task's own types would draw them.

A generator gives float64 other numbers than float32: a hidden state that starts from torch.randn
would be another one in the float64 reference.
"""

import torch

from .operators import base_name

_MAKING = {"randn", "rand", "randn_like", "rand_like"}
_FILLING = {"normal", "uniform", "exponential", "log_normal", "cauchy"}


def draws(name: str) -> bool:
    base = base_name(name)
    return base in _MAKING or (base in _FILLING and name.endswith("_"))


def drawn(func, args, kwargs, own: torch.dtype):
    """The result of a drawing operator in float64; `own` is the default type outside."""
    base = base_name(func._schema.name)
    if base in _FILLING:
        target = args[0]
        if target.dtype != torch.float64:
            return func(*args, **kwargs)
        values = torch.empty(target.shape, dtype=own, device=target.device)
        func(values, *args[1:], **kwargs)
        return target.copy_(values)
    asked = kwargs.get("dtype")
    narrow = own if asked in (None, torch.float64) else asked
    made = func(*args, **(kwargs | {"dtype": narrow}))
    return made.to(torch.float64) if made.is_floating_point() else made
