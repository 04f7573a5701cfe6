"""Other shapes that a module accepts: one size of the inputs changed wherever it occurs.

A batch of one, an odd one, irregular images. Which are legal is found by trying the reference.
"""

import dataclasses
import math

import torch

from ..values import DTYPES, flatten, rebuild
from .domains import Domain

MAX_VARIANTS, MAX_TRIES = 6, 12


@dataclasses.dataclass(frozen=True)
class ShapeVariant:
    name: str
    note: str
    places: tuple  # (leaf, dimension) where the size changes
    old: int
    new: int

    def domains(self, domains: list[Domain]) -> list[Domain]:
        """An index into the size that shrank has a smaller bound: one out of bounds would end the
        CUDA context."""
        return [
            dataclasses.replace(d, low=min(d.low, self.new - 1), high=min(d.high, self.new - 1))
            if d.kind == "index" and d.high < self.old else d
            for d in domains
        ]

    def input_bytes(self, leaves: list[dict]) -> int:
        """Of the cut inputs: what a case costs goes with it."""
        total = 0
        for i, leaf in enumerate(leaves):
            cut = {d for j, d in self.places if j == i}
            sizes = [self.new if d in cut else size for d, size in enumerate(leaf["shape"])]
            total += math.prod(sizes) * DTYPES[leaf["dtype"]].itemsize
        return total

    def apply(self, inputs, domains: list[Domain]):
        """Cut inputs, in memory of their own."""
        tree, leaves = flatten(inputs)
        tensors = [t for _, t in leaves]
        for leaf, dimension in self.places:
            tensors[leaf] = tensors[leaf].narrow(dimension, 0, self.new)
        for i, tensor in enumerate(tensors):
            if domains[i].kind == "index" and domains[i].high < self.old:
                tensor = tensor % self.new
            if domains[i].kind == "probability":
                tensor = tensor / tensor.sum(-1, keepdim=True).clamp_min(1e-30)
            tensors[i] = tensor.clone(memory_format=torch.contiguous_format)
        return rebuild(tree, tensors)


@dataclasses.dataclass(frozen=True)
class SmallVariant:
    """Several sizes cut at once, one after the other."""

    name: str
    note: str
    parts: tuple

    def input_bytes(self, leaves: list[dict]) -> int:
        """Of the inputs when cut."""
        shapes = [list(leaf["shape"]) for leaf in leaves]
        for part in self.parts:
            for leaf, dimension in part.places:
                shapes[leaf][dimension] = part.new
        return sum(math.prod(shape) * DTYPES[leaf["dtype"]].itemsize
                   for shape, leaf in zip(shapes, leaves))

    def domains(self, domains: list[Domain]) -> list[Domain]:
        for part in self.parts:
            domains = part.domains(domains)
        return domains

    def apply(self, inputs, domains: list[Domain]):
        for part in self.parts:
            inputs = part.apply(inputs, domains)
            domains = part.domains(domains)
        return inputs


def small(inputs, domains: list[Domain], limit: int, bytes_of):
    """The task's inputs with sizes cut until inputs and outputs fit `limit` bytes, the largest kept
    as large as may be; None where no size may be cut. `bytes_of` tells how many bytes cut inputs and
    their answer have, or None where the reference takes them not."""
    parts, whole = [], inputs
    have = bytes_of(inputs)
    for _ in range(MAX_TRIES):
        if have is None or have <= limit:
            break
        step = _one_cut(whole, domains, have / limit, bytes_of)
        if step is None:
            break
        part, have = step
        parts.append(part)
        whole, domains = part.apply(whole, domains), part.domains(domains)
    if not parts:
        return None
    return SmallVariant("small", "; ".join(p.note for p in parts)[:300], tuple(parts))


def _one_cut(inputs, domains, excess: float, bytes_of):
    """One size cut, the batch first: to what suffices, or as far as is sensible."""
    shapes = [list(t.shape) for _, t in flatten(inputs)[1]]
    for size, places in _sizes(shapes):
        least = 3 if places[0] == (0, 0) else 33
        if size <= least:
            continue
        for new in dict.fromkeys((max(least, int(size / excess) | 1), max(least, size // 2 | 1))):
            if new >= size:
                continue
            note = f"size {size} -> {new}"
            part = ShapeVariant(note, note, tuple(places), size, new)
            try:
                have = bytes_of(part.apply(inputs, domains))
            except RuntimeError:
                continue
            if have is not None:
                return part, have
    return None


def candidates(inputs) -> list[ShapeVariant]:
    """What might be legal, most useful first."""
    _, leaves = flatten(inputs)
    shapes = [list(t.shape) for _, t in leaves]
    found = []
    for size, places in _sizes(shapes):
        batch = places[0][1] == 0 and places[0][0] == 0
        what = "batch" if batch else f"dimension {places[0][1]}"
        for new in _smaller(size, batch):
            note = f"size {size} -> {new} at " + ", ".join(f"{i}[{d}]" for i, d in places[:6])
            found.append(ShapeVariant(f"{what}={new}", note, tuple(places), size, new))
    return found[:MAX_TRIES]


def _sizes(shapes):
    """Distinct sizes by where they first occur; equal sizes change together, but for those that one
    shape has twice: then each dimension alone is tried as well."""
    seen = {}
    for i, shape in enumerate(shapes):
        for d, size in enumerate(shape):
            if size > 1:
                seen.setdefault(size, []).append((i, d))
    result = []
    for size, places in seen.items():
        result.append((size, places))
        leading = [p for p in places if p[1] == places[0][1]]
        if len(leading) != len(places):
            result.append((size, leading))
    return result


def _smaller(size: int, batch: bool) -> list[int]:
    odd = max(1, size // 2) | 1
    sizes = [1, odd if odd < size else size - 1] if batch else [odd if odd < size else size - 1]
    return [n for n in dict.fromkeys(sizes) if 0 < n < size]
