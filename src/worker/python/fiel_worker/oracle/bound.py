"""The bound of docs/numerics.md and the comparison under it: src/tensor/compare.h in PyTorch.

    model = ErrorModel(dtype=torch.float32, reduction_length=767, sensitivity=s, lowest="tf32")
    report = compare(reference, actual, model)        # a dict; report["failing"], ["worst_ratio"] …

Works in slices: beside the tensors given it holds a few hundred megabytes, whatever their size.
"""

import dataclasses
import math

import torch

from .precision import UNITS, growth
from .slices import row_major_pieces, row_rms, unravel

ELEMENT, FLOOR, STORAGE = 8.0, 4.0, 4.0
RMS, RMS_STORAGE = 2.0, 1.5
ILL_CONDITIONED = 0.05
# Relative and absolute cost of rounding one element to its type, and in rms: a step for the narrow
# types, half a step for the wide ones; 2^-126 because kernels may flush subnormals.
_ROUNDING = {
    torch.float64: (2.0**-53, 2.0**-1074, 0.6 * 2.0**-53),
    torch.float32: (2.0**-24, 2.0**-126, 0.6 * 2.0**-24),
    torch.float16: (2.0**-10, 2.0**-24, 2.0**-11),
    torch.bfloat16: (2.0**-7, 2.0**-126, 2.0**-8),
    torch.float8_e4m3fn: (2.0**-3, 2.0**-9, 2.0**-4),
    torch.float8_e5m2: (2.0**-2, 2.0**-16, 2.0**-3),
}
_REAL_OF = {torch.complex64: torch.float32, torch.complex128: torch.float64}
_OWN_CLASS = {
    torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "fp8", torch.float8_e5m2: "fp8",
}
_CLASS_ORDER = ["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "integer", "below"]
_LOWEST_UNIT = {"tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}


@dataclasses.dataclass
class ErrorModel:
    dtype: torch.dtype
    unit: float = 2.0**-24
    reduction_length: float = 1.0
    systematic: bool = False
    sensitivity: torch.Tensor | None = None  # how far an element moves for u·g = 1
    storage: torch.Tensor | None = None
    contracts: bool = False  # products of matrices, which may run in a lower class
    factor: float = 1.0
    special: str = "propagate"

    def growth(self) -> float:
        return growth(self.reduction_length, self.systematic)


def compare(reference: torch.Tensor, actual: torch.Tensor, model: ErrorModel,
            lowest: str = "fp32") -> dict:
    """`reference` is wide (or of an integer type) and has the shape of `actual`."""
    if reference.is_complex():
        reference, actual = torch.view_as_real(reference), torch.view_as_real(actual.resolve_conj())
        pairs = {name: _paired(getattr(model, name)) for name in ("sensitivity", "storage")}
        model = dataclasses.replace(model, **pairs)
    dtype = _REAL_OF.get(model.dtype, model.dtype)
    return _Comparison(reference, actual, dtype, model, lowest).run()


def _paired(tensor):
    """One value an element, for its real and its imaginary part."""
    return None if tensor is None else tensor.unsqueeze(-1).expand(*tensor.shape, 2)


class _Comparison:
    def __init__(self, reference, actual, dtype, model: ErrorModel, lowest: str):
        self.y, self.a, self.dtype, self.model = reference, actual, dtype, model
        self.integer = not dtype.is_floating_point
        self.relative, self.absolute, self.rms_rounding = _ROUNDING.get(dtype, (0.0, 0.0, 0.0))
        self.largest = math.inf if self.integer else torch.finfo(dtype).max
        self.saturates = dtype in (torch.float8_e4m3fn, torch.float8_e5m2)
        self.strict_unit = model.factor * model.unit * model.growth()
        self.unit = self.strict_unit
        if model.contracts and dtype != torch.float64:
            self.unit = max(self.unit, model.factor * _LOWEST_UNIT.get(lowest, 0.0))
        self.rows, self.rms_output = row_rms(reference)
        self.n = dict.fromkeys(
            ("compared", "exact", "failing", "strict", "nan", "infinity", "unstable", "counted"), 0)
        self.sums = dict.fromkeys(("error2", "output2", "sensitivity2", "storage2"), 0.0)
        self.max_abs = self.worst = 0.0
        self.first = None  # (flat index, expected, got, bound)

    def run(self) -> dict:
        for index, begin in row_major_pieces(self.y.shape):
            self._piece(index, begin)
        return self._report()

    def _scale(self, index, like):
        if self.rows is None:
            return max(self.rms_output, 0.0)
        own = self.rows[index[: self.rows.dim()]].clamp_min(self.rms_output / 64)
        return own.unsqueeze(-1).expand(like.shape) if own.dim() < like.dim() else own

    def _piece(self, index, begin):
        y, raw = self.y[index], self.a[index]
        a = raw.to(torch.float64)
        if self.integer:  # as integers: float64 does not tell all of 64 bits apart
            exact = raw == y.to(raw.dtype)
        else:
            exact = a == y.to(self.dtype).to(torch.float64)
        y = y.to(torch.float64)
        scale = self._scale(index, y)
        finite = torch.isfinite(y)
        size = torch.where(finite, y.abs(), 0) + scale
        s = self._extra(self.model.sensitivity, index)
        if s is None:
            s = torch.zeros_like(y) if self.integer else size
        d = self._extra(self.model.storage, index)
        if d is None:
            d = torch.zeros((), dtype=torch.float64, device=y.device)
        bounded = torch.isfinite(s) & torch.isfinite(d)
        floor = 0.0 if self.integer else FLOOR * scale
        rest = STORAGE * d + self.relative * y.abs() + self.absolute
        reach = ELEMENT * s + floor
        bound = self.unit * reach + rest
        special, wrong, nan, infinity = self._special(y, a, finite, bounded, bound)
        plain = finite & bounded & ~special
        error = torch.where(plain, (a - y).abs(), 0)
        # Where an integer is equal it is right, also beyond what float64 tells apart.
        error = torch.where(exact, torch.zeros_like(error), error) if self.integer else error
        if self.integer:
            error = torch.where(plain & ~exact, error.clamp_min(1.0), error)
        beyond = error > bound
        failing = wrong | (plain & beyond)
        ill = plain & (self.unit * s > ILL_CONDITIONED * size + rest)
        self._add(y, a, error, bound, reach, rest, s, d, exact, finite & bounded, plain, ill,
                  failing, nan, infinity, begin)

    def _extra(self, tensor, index):
        return None if tensor is None else tensor[index].to(torch.float64)

    def _special(self, y, a, finite, bounded, bound):
        """Elements that are no ordinary pair of finite numbers, and which of them are wrong."""
        no = torch.zeros_like(finite)
        odd = ~finite | ~torch.isfinite(a)
        top = finite & (y.abs() + bound >= self.largest)
        if not bool(odd.any()) and not bool(top.any()):
            return no, no, 0, 0
        nan_wanted = torch.isnan(y)
        if self.dtype == torch.float8_e4m3fn:
            nan_wanted = nan_wanted | torch.isinf(y)
        right = torch.where(nan_wanted, torch.isnan(a), a == y)
        limit = torch.copysign(torch.full_like(y, self.largest), y)
        if self.saturates:
            right = right | (torch.isinf(y) & (a == limit))
        if self.model.special == "ignore":
            right = right | ~finite
        # Near the top of the type's range overflow is right, and so is the largest value.
        over = top & (a == torch.copysign(torch.full_like(y, math.inf), y))
        if self.saturates:
            over = over | (top & (torch.isnan(a) | (a == limit)))
        wrong = (~finite & ~right) | (finite & bounded & ~torch.isfinite(a) & ~over)
        nan = int((wrong & torch.where(finite, torch.isnan(a), nan_wanted)).sum())
        infinity = int(wrong.sum()) - nan
        return odd | over, wrong, nan, infinity

    def _add(self, y, a, error, bound, reach, rest, s, d, exact, bounded, plain, ill, failing, nan,
             infinity, begin):
        good = plain & ~ill
        ratio = torch.where(error == 0, torch.zeros_like(error), error / bound)
        zero = torch.zeros((), dtype=torch.float64, device=y.device)
        counts = torch.stack([
            bounded.sum() + (~torch.isfinite(y)).sum(), exact.sum(), failing.sum(),
            (error > self.strict_unit * reach + rest).sum(), (plain & ill).sum(), good.sum(),
        ]).tolist()
        sums = torch.stack([
            torch.where(good, error, zero).square().sum(), torch.where(good, y, zero).square().sum(),
            torch.where(good, s, zero).square().sum(),
            torch.where(good, d.expand_as(y), zero).square().sum(),
            error.max() if error.numel() else zero, ratio.max() if ratio.numel() else zero,
        ]).tolist()
        for key, value in zip(("compared", "exact", "failing", "strict", "unstable", "counted"), counts):
            self.n[key] += value
        self.n["nan"] += nan
        self.n["infinity"] += infinity
        for key, value in zip(self.sums, sums):
            self.sums[key] += value
        self.max_abs = max(self.max_abs, sums[4])
        worse = sums[5] > self.worst
        if (counts[2] and self.first is None) or (worse and self.n["failing"] == 0):
            where = failing if counts[2] else ratio
            at = int(where.reshape(-1).to(torch.float64).argmax())
            pick = [float(t.reshape(-1)[at]) for t in (y, a, bound.expand_as(y))]
            witness = (begin + at, *pick)
            if counts[2]:
                self.first = witness
            else:
                self.worst_at = witness
        self.worst = max(self.worst, sums[5])

    def _limit(self, unit: float, rms: dict) -> float:
        few = 1 + 4 / math.sqrt(max(1, self.n["counted"]))
        rounding = RMS_STORAGE * rms["storage"] + self.rms_rounding * rms["output"]
        return RMS * unit * rms["sensitivity"] + few * rounding + self.absolute

    def _class(self, rms: dict) -> str:
        if self.integer:
            return "below" if self.n["failing"] else "integer"
        if self.n["nan"] or self.n["infinity"]:
            return "below"
        own = _OWN_CLASS[self.dtype]
        if rms["error"] <= self._limit(self.strict_unit, rms) and not self.n["strict"]:
            return own
        levels = (("fp32", 2.0**-24 * self.model.growth()), ("tf32", 2.0**-11), ("bf16", 2.0**-8))
        for name, unit in levels:
            known = _CLASS_ORDER.index(name) <= _CLASS_ORDER.index(own)
            if known or unit <= self.strict_unit / self.model.factor:
                continue
            if rms["error"] <= self._limit(unit, rms):
                return name
        return "below"

    def _report(self) -> dict:
        counted = max(1, self.n["counted"])
        rms = {k: math.sqrt(self.sums[k + "2"] / counted)
               for k in ("error", "output", "sensitivity", "storage")}
        lost = self.n["nan"] + self.n["infinity"] > 0
        limit = self._limit(self.unit, rms)
        rms_failed = not self.integer and rms["error"] > limit
        first = self.first or (getattr(self, "worst_at", None) if rms_failed else None)
        elements = self.y.numel()
        relative = 0.0 if rms["error"] == 0 else (
            rms["error"] / self.rms_output if self.rms_output > 0 else math.inf)
        return {
            "elements": elements, "compared": self.n["compared"], "failing": self.n["failing"],
            "first_failing": first[0] if first else -1,
            "first_index": unravel(first[0], self.y.shape) if first else None,
            "expected": first[1] if first else None, "got": first[2] if first else None,
            "bound": first[3] if first else None,
            "worst_ratio": math.inf if lost else self.worst, "max_abs": self.max_abs,
            "rms_error": math.inf if lost else rms["error"], "rms_output": self.rms_output,
            "relative_rms": math.inf if lost else relative, "rms_limit": limit,
            "rms_failed": rms_failed,
            # |error| over the bound of fp32 arithmetic's own scale, in units of u: s is its |A||B|.
            "componentwise": self.worst * self.unit * ELEMENT / self.model.unit,
            "nan_mismatches": self.n["nan"], "infinity_mismatches": self.n["infinity"],
            "unstable": self.n["unstable"],
            "exact_fraction": self.n["exact"] / elements if elements else 1.0,
            "class": self._class(rms),
        }


def accepted(report: dict) -> bool:
    return report["failing"] == 0 and not report["rms_failed"]


def unit_of(dtypes) -> float:
    """Roundoff of a task's arithmetic: fp32's unless it is about doubles."""
    wide = (torch.float64, torch.complex128)
    return UNITS[torch.float64] if any(d in wide for d in dtypes) else 2.0**-24
