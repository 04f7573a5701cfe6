"""What values an input may take, read off several draws of get_inputs.

A mask stays a mask, a class index stays within its bound, a distribution sums to one: no probe may
hand a candidate what the task never would.
"""

import dataclasses

import torch

from .slices import row_major_pieces

KINDS = ("real", "positive", "probability", "index", "integer", "mask", "sign", "fixed")


@dataclasses.dataclass
class Domain:
    kind: str
    low: float = 0.0
    high: float = 1.0
    symmetric: bool = False  # equal to its own transpose in every draw
    zeros: bool = False  # zero at the same places in every draw: a triangle, a band

    def describe(self) -> dict:
        return {"kind": self.kind, "low": self.low, "high": self.high,
                "symmetric": self.symmetric, "pattern": self.zeros}

    @property
    def moves(self) -> bool:
        """Do probes of values have anything to do with it?"""
        return self.kind in ("real", "positive")


def classify(draws: list[torch.Tensor]) -> Domain:
    """The domain of one input from its value in several draws."""
    first = draws[0]
    if first.numel() == 0:
        return Domain("fixed")
    same = len(draws) > 1 and all(torch.equal(first, d) for d in draws[1:])
    low, high = _range(draws)
    if first.dtype == torch.bool:
        return Domain("fixed" if same and first.numel() > 8 else "mask", 0, 1)
    if first.is_complex():
        return Domain("real", -1, 1)
    if not first.is_floating_point():
        if same:
            return Domain("fixed", low, high)
        kind = "mask" if low == 0 and high == 1 else "index" if low >= 0 else "integer"
        return Domain(kind, low, high)
    return _classify_floating(draws, same, low, high)


def _classify_floating(draws, same, low, high) -> Domain:
    first = draws[0]
    sample = torch.cat([_sample(d) for d in draws])
    distinct = torch.unique(sample)
    if distinct.numel() <= 2 and set(distinct.tolist()) <= {-1.0, 1.0} and first.numel() > 8:
        return Domain("sign", -1, 1)
    if distinct.numel() <= 2 and set(distinct.tolist()) <= {0.0, 1.0} and first.numel() > 8:
        return Domain("fixed" if same else "mask", 0, 1)
    if same:
        return Domain("fixed", low, high)
    whole = bool((sample == sample.round()).all())
    if whole and first.numel() > 8 and distinct.numel() < sample.numel() / 2:
        return Domain("integer", low, high)
    if low >= 0 and all(_rows_sum_to_one(d) for d in draws):
        return Domain("probability", low, high)
    return Domain("real", low, high, _is_symmetric(draws), _has_pattern(draws))


def _range(draws) -> tuple[float, float]:
    lows, highs = [], []
    for draw in draws:
        if draw.is_complex():
            return -1.0, 1.0
        for index, _ in row_major_pieces(draw.shape):
            piece = draw[index]
            piece = piece.to(torch.float32) if piece.element_size() == 1 else piece
            low, high = piece.aminmax()
            lows.append(float(low))
            highs.append(float(high))
    return min(lows), max(highs)


def _sample(tensor: torch.Tensor, count: int = 8192) -> torch.Tensor:
    if not tensor.is_contiguous() and tensor.numel() > 1 << 26:
        tensor = tensor[:1].contiguous()
    flat = tensor.reshape(-1)
    return flat[:: max(1, flat.numel() // count)][:count].to(torch.float64).cpu()


def _rows_sum_to_one(tensor: torch.Tensor) -> bool:
    if tensor.dim() == 0 or tensor.shape[-1] < 2:
        return False
    rows = tensor.reshape(-1, tensor.shape[-1])[:64].to(torch.float64)
    return bool(((rows.sum(-1) - 1).abs() < 4e-3).all()) and bool((rows >= 0).all())


def _is_symmetric(draws) -> bool:
    first = draws[0]
    if first.dim() < 2 or first.shape[-1] != first.shape[-2] or first.shape[-1] < 3:
        return False
    return all(torch.equal(d, d.transpose(-1, -2)) for d in draws)


def _has_pattern(draws) -> bool:
    first = draws[0]
    if first.dim() < 2 or first.numel() > 1 << 28:
        return False
    zeros = first == 0
    share = float(zeros.to(torch.float32).mean())
    if share < 0.05 or share == 1:
        return False
    return all(torch.equal(zeros, d == 0) for d in draws[1:])
