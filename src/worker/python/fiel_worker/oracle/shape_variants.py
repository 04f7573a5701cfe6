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
