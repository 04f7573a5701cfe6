"""A product of matrices, a convolution or a sum: what its own rounding amounts to, and cheap repetition.

    c = Contraction.of(func, args, kwargs, result)   # or None
    c.deviation()      # sqrt(2 Σ a² b² + y²) of each element, sqrt(Σ x² + y²) of a sum: computed, not drawn
    c.moved(perturbation, amount, source)

Both are sums of products of changes, for which float32 is exact enough; the result itself is float64.
"""

import dataclasses

import torch

from .operators import base_name

# (positions of the two factors, position of what is added)
_FACTORS = {
    "mm": ((0, 1), None), "bmm": ((0, 1), None), "mv": ((0, 1), None), "dot": ((0, 1), None),
    "addmm": ((1, 2), 0), "baddbmm": ((1, 2), 0), "addmv": ((1, 2), 0), "convolution": ((0, 1), 2),
    "sum": ((0,), None), "mean": ((0,), None), "cumsum": ((0,), None),
    "avg_pool2d": ((0,), None), "avg_pool3d": ((0,), None),
}
_MEANS = {"mean", "avg_pool2d", "avg_pool3d"}  # the mean of squares, divided by their number
_DIVISOR = 6  # position of avg_pool's divisor_override


def is_known(name: str) -> bool:
    return base_name(name) in _FACTORS


@dataclasses.dataclass(eq=False)
class Contraction:
    func: object
    name: str
    args: tuple
    result: torch.Tensor
    versions: list
    kwargs: dict
    length: float

    @staticmethod
    def of(func, args, kwargs, result, length: float):
        """None where it is none of these, or scaled, or not of float64."""
        name = func._schema.name
        known = _FACTORS.get(base_name(name))
        scaled = any(k in kwargs for k in ("alpha", "beta", "out"))
        scaled |= "pool" in name and len(args) > _DIVISOR and args[_DIVISOR] is not None
        if known is None or scaled or not isinstance(result, torch.Tensor):
            return None
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if any(t.dtype != torch.float64 for t in tensors + [result]) or any(t is result for t in tensors):
            return None
        versions = [t._version for t in tensors + [result]]
        return Contraction(func, name, tuple(args), result, versions, dict(kwargs), length)

    def valid(self, name: str) -> bool:
        """Is this still what was computed? A later operator may have written in place."""
        tensors = [a for a in self.args if isinstance(a, torch.Tensor)] + [self.result]
        return name == self.name and self.versions == [t._version for t in tensors]

    def deviation(self) -> torch.Tensor:
        squares = [a.square().to(torch.float32) if isinstance(a, torch.Tensor) else a for a in self.args]
        found = self.func(*squares, **self.kwargs).to(torch.float64)
        found = found.clamp_min(0)  # by FFT a sum may fall below 0
        operands = len(_FACTORS[base_name(self.name)][0])
        divisor = self.length if base_name(self.name) in _MEANS else 1
        found.mul_(operands / divisor).add_(self.result.square())
        return torch.nan_to_num_(found, 0, 0, 0).sqrt_()

    def moved(self, move, amount: float, source: int) -> torch.Tensor:
        """The result where every operand moved by ± amount."""
        factors, added = _FACTORS[base_name(self.name)]
        narrow = [a.to(torch.float32) if isinstance(a, torch.Tensor) else a for a in self.args]
        total = self.result
        for turn, position in enumerate(factors):
            args = list(narrow)
            args[position] = move.signed(args[position], source + 1 + position)
            if added is not None and args[added] is not None:
                first = turn == 0
                args[added] = move.signed(args[added], source + 1 + added) if first \
                    else torch.zeros_like(args[added])
            total = torch.add(total, self.func(*args, **self.kwargs), alpha=amount)
        return total
