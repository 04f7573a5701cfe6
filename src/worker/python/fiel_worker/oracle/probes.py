"""Input sets with a purpose, legal for every input's domain: src/judge/probe_inputs.cpp for inputs
that only get_inputs knows. A recipe and a task give the same bytes every time.

    inputs = make(task_inputs, domains, Recipe("outliers", 0, seed, amplitude=1.0))   # or None
"""

import dataclasses
import math

import torch

from ..values import flatten, rebuild
from .domains import Domain

VALUE_PROBES = ("task-inputs", "mixed-signs", "offset-mean", "scale-range", "outliers", "ties",
                "constant", "one-hot", "special-values")
SYSTEMATIC = ("ties", "constant", "one-hot")
_PIECE = 1 << 26


@dataclasses.dataclass(frozen=True)
class Recipe:
    probe: str = "task-inputs"
    variant: int = 0
    seed: int = 0
    amplitude: float = 1.0  # multiplies offsets, scales and outliers


def derive(seed: int, purpose: int) -> int:
    """splitmix64: no two uses of one seed meet."""
    mask = (1 << 64) - 1
    x = (seed + 0x9E3779B97F4A7C15 * (purpose + 1)) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return (x ^ (x >> 31)) >> 1


def uniform(seed: int, purpose: int) -> float:
    return derive(seed, purpose) / 2.0**63


def make(own, domains: list[Domain], recipe: Recipe):
    """The inputs of a recipe; `own` is what get_inputs drew for its seed and may be overwritten.
    None where the probe has nothing to do with these inputs."""
    tree, leaves = flatten(own)
    if recipe.probe not in VALUE_PROBES or recipe.probe == "task-inputs":
        return own
    made, applies = [], False
    for i, ((_, tensor), domain) in enumerate(zip(leaves, domains)):
        seed = derive(recipe.seed, 64 * VALUE_PROBES.index(recipe.probe) + 8 * recipe.variant + 4096 * i)
        value, applied = _input(tensor, domain, recipe, seed)
        made.append(value)
        applies |= applied
    return rebuild(tree, made) if applies else None


def _input(own, domain, recipe, seed):
    pattern = recipe.probe in ("ties", "constant")
    if recipe.probe == "special-values":
        if domain.kind == "real" and own.numel() > 1 and (own.is_floating_point() or own.is_complex()):
            return _plant(own, recipe, seed), True
        return own, False
    if domain.kind == "probability":
        return _probability(own, recipe, seed)
    if domain.kind == "index":
        return _index(own, domain, recipe, seed), pattern
    if domain.kind in ("mask", "sign") and recipe.probe == "constant":
        return torch.ones_like(own), True
    if not domain.moves:
        return own, False
    value = _real(own, recipe, seed)
    if domain.kind == "positive":
        value = value.abs_().add_(0.0625)
    if domain.zeros:
        value.masked_fill_(own == 0, 0)
    if domain.symmetric:
        value = value.tril() + value.tril(-1).transpose(-1, -2)
    return value, True


def _probability(own, recipe, seed):
    """Rows that sum to one: even, uneven, nearly all in one place. None is zero."""
    if recipe.probe in ("ties", "constant"):
        return torch.full_like(own, 1 / own.shape[-1]), True
    if recipe.probe == "one-hot":
        return (0.9 * _one_hot(own, seed) + 0.1 / own.shape[-1]).to(own.dtype), True
    if recipe.probe in ("mixed-signs", "outliers"):
        logits = _normal(own, seed)
        if recipe.probe == "outliers":
            _plant_outliers(logits, 3 * min(1.0, recipe.amplitude), seed)
        return torch.softmax((1 + recipe.variant) * logits, -1).to(own.dtype), True
    return own, False


def _index(own, domain, recipe, seed):
    high = int(domain.high)
    if recipe.probe == "constant":
        return torch.full_like(own, high)
    if recipe.probe == "ties":
        return own.clamp(max=min(high, int(domain.low) + 1))
    if recipe.probe == "one-hot":
        return torch.full_like(own, int(domain.low))
    value = own.clone()
    if value.numel() >= 2:  # random draws may miss the ends, where an index goes wrong
        flat = value.view(-1) if value.is_contiguous() else value.reshape(-1)
        flat[0], flat[-1] = int(domain.low), high
        value = flat.view(own.shape)
    return value


def _narrow(dtype) -> bool:
    return dtype in (torch.float16, torch.float8_e4m3fn, torch.float8_e5m2)


def _offset(dtype, u: float) -> float:
    """In standard deviations, which the type still tells apart there. Where it can, beyond what exp() takes to
    the ends of float32 (88 and -104): a softmax must start from its row's own maximum."""
    if dtype == torch.float16:
        return 10 ** (2.05 + 0.55 * u)
    return 10 ** (0.8 + 0.6 * u if _narrow(dtype) else 2.5 + 0.7 * u)


def _exponent(dtype, variant: int, u: float) -> float:
    """A continuous range: up, down, and up to where float16 has no numbers left (65504): factors that were rounded
    to it have TF32's bits and not its range."""
    sign = -1 if variant == 1 else 1
    if _narrow(dtype):
        return sign * (1 + 2 * u)
    return 15 + 5 * u if variant == 2 else sign * (3 + 5 * u)


def _normal(own, seed):
    generator = torch.Generator(device=own.device).manual_seed(seed)
    out = torch.empty(own.shape, dtype=_drawable(own.dtype), device=own.device)
    return out.normal_(generator=generator)


def _drawable(dtype):
    return dtype if dtype.itemsize > 1 else torch.float32


def _real(own, recipe, seed):
    """Same shape and type, contiguous; drawn anew."""
    u = uniform(recipe.seed, 100 + recipe.variant)
    narrow, size = _narrow(own.dtype), recipe.amplitude
    if recipe.probe == "one-hot":
        return _one_hot(own, seed)
    x = _normal(own, seed)
    if recipe.probe == "mixed-signs" and recipe.variant:
        x.mul_(2 * size)
    elif recipe.probe == "mixed-signs":
        x.mul_(min(1.0, size))
    elif recipe.probe == "offset-mean":
        x.add_(size * _offset(own.dtype, u) * (-1 if recipe.variant else 1))
    elif recipe.probe == "scale-range":
        exponent = _exponent(own.dtype, recipe.variant, u)
        x.mul_(2.0**exponent * (size if exponent > 0 else 1))
    elif recipe.probe == "outliers":
        _plant_outliers(x, size * (20 if narrow else 300) * (1 + u), seed)
    elif recipe.probe == "ties":
        x.mul_(1.5 * min(1.0, size)).round_().clamp_(-2, 2)
    elif recipe.probe == "constant":
        x.fill_((-1 if u < 0.5 else 1) * (0.3 + u) * min(1.0, size))
    return x.to(own.dtype)


def _one_hot(own, seed):
    x = torch.zeros(own.shape, dtype=_drawable(own.dtype), device=own.device)
    if own.dim() == 0:
        return x.fill_(1).to(own.dtype)
    generator = torch.Generator(device=own.device).manual_seed(seed)
    where = torch.randint(own.shape[-1], (*own.shape[:-1], 1), generator=generator, device=own.device)
    return x.scatter_(-1, where, 1).to(own.dtype)


def _plant_outliers(x, size, seed):
    """Four elements in a thousand, at least one."""
    count = max(1, int(0.004 * x.numel()))
    generator = torch.Generator(device=x.device).manual_seed(seed ^ 0x5DEECE66D)
    flat = x.view(-1)
    for begin in range(0, count, _PIECE):
        n = min(_PIECE, count - begin)
        where = torch.randint(x.numel(), (n,), generator=generator, device=x.device)
        flat[where] = flat[where] * size


def _plant(own, recipe, seed):
    """A few special values: most rows stay clean, so that a NaN everywhere shows."""
    value = own.clone(memory_format=torch.contiguous_format)
    sets = ((math.nan, math.nan, -0.0), (math.inf, -math.inf, -0.0))
    if own.dtype == torch.float8_e4m3fn:
        sets = (sets[0], (math.nan, -0.0, -0.0))
    flat = value.view(-1)
    for k, special in enumerate(sets[recipe.variant % 2]):
        flat[derive(seed, 1000 + k) % flat.numel()] = special
    return value


def change_one_element(inputs, domains: list[Domain], seed: int):
    """The same inputs with one element changed to another legal value; (inputs, path) or None."""
    tree, leaves = flatten(inputs)
    legal = [i for i, d in enumerate(domains)
             if d.kind in ("real", "positive", "mask", "sign", "index") and leaves[i][1].numel()]
    legal = [i for i in legal if domains[i].moves] or legal
    if not legal:
        return None
    chosen = legal[derive(seed, 1) % len(legal)]
    tensors = [t for _, t in leaves]
    value = tensors[chosen].clone(memory_format=torch.contiguous_format)
    flat, domain = value.view(-1), domains[chosen]
    at = derive(seed, 2) % flat.numel()
    flat[at] = _changed(flat[at].item(), domain, seed)
    if domain.symmetric:
        row, column = divmod(at % (value.shape[-1] ** 2), value.shape[-1])
        flat[at - at % (value.shape[-1] ** 2) + column * value.shape[-1] + row] = flat[at]
    tensors[chosen] = value
    return rebuild(tree, tensors), leaves[chosen][0]


def _changed(value, domain: Domain, seed: int):
    if domain.kind == "index":
        count = int(domain.high - domain.low) + 1
        return int(domain.low) + (int(value - domain.low) + 1 + derive(seed, 3) % max(1, count - 1)) % count
    if domain.kind == "mask":
        return not value if isinstance(value, bool) else 1 - value
    if domain.kind == "sign":
        return -value
    if domain.kind == "positive":
        return value * 3 + 1
    if isinstance(value, complex):
        return value + 3
    step = 3 + 2 * uniform(seed, 4)
    return value - 2 * step if value > 0 else value + step
