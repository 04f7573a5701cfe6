"""A product of matrices or a convolution: what its own rounding amounts to, and cheap repetition.

    c = Contraction.of(func, args, kwargs, result)   # or None
    c.deviation()      # sqrt(2 Σ a² b² + y²) of each element, computed and not drawn
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
}


@dataclasses.dataclass(eq=False)
class Contraction:
    func: object
    name: str
    args: tuple
    result: torch.Tensor
    versions: list

    @staticmethod
    def of(func, args, kwargs, result):
        """None where it is none of these, or scaled, or not of float64."""
        name = func._schema.name
        known = _FACTORS.get(base_name(name))
        if known is None or kwargs or not isinstance(result, torch.Tensor):
            return None
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if any(t.dtype != torch.float64 for t in tensors + [result]) or any(t is result for t in tensors):
            return None
        return Contraction(func, name, tuple(args), result, [t._version for t in tensors + [result]])

    def valid(self, name: str) -> bool:
        """Is this still what was computed? A later operator may have written in place."""
        tensors = [a for a in self.args if isinstance(a, torch.Tensor)] + [self.result]
        return name == self.name and self.versions == [t._version for t in tensors]

    def deviation(self) -> torch.Tensor:
        squares = [a.square().to(torch.float32) if isinstance(a, torch.Tensor) else a for a in self.args]
        found = self.func(*squares).to(torch.float64).clamp_min_(0)  # by FFT a sum may fall below 0
        found.mul_(2).add_(self.result.square())
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
            total = torch.add(total, self.func(*args), alpha=amount)
        return total
