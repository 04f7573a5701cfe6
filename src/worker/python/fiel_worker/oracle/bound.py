"""The bound of docs/numerics.md and the comparison under it: src/tensor/compare.h in PyTorch.

    model = ErrorModel(dtype=torch.float32, reduction_length=767, sensitivity=s, lowest="tf32")
    report = compare(reference, actual, model)        # a dict; report["failing"], ["worst_ratio"] …

Works in slices: beside the tensors given it holds a few hundred megabytes, whatever their size.
"""

import dataclasses
import math

import torch

from .placement import unwritten
from .precision import UNITS, growth
from .slices import Scales, all_finite, pieces_of, row_major_pieces, unravel

ELEMENT, FLOOR, STORAGE = 8.0, 4.0, 4.0
RMS, RMS_STORAGE = 2.0, 1.5
ILL_CONDITIONED = 0.05
# Relative and absolute cost of rounding one element to its type, and in rms: a step for the narrow
# types, half a step for the wide ones.
_FLUSHED = 2.0**-104  # kernels may flush subnormals, and a factor that was flushed may be multiplied afterwards
ROUNDING = {
    torch.float64: (2.0**-53, 2.0**-1074, 0.6 * 2.0**-53),
    torch.float32: (2.0**-24, _FLUSHED, 0.6 * 2.0**-24),
    torch.float16: (2.0**-10, 2.0**-24, 2.0**-11),
    torch.bfloat16: (2.0**-7, _FLUSHED, 2.0**-8),
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
    lower_factor: float = 1.0  # of the unit of a lower class, beside `factor`
    # No input is NaN: a NaN of the reference is one of inf - inf, where the same sums in another order may
    # leave an infinity.
    indeterminate: bool = False
    _scales: tuple | None = dataclasses.field(default=None, repr=False, compare=False)

    def scales_of(self, reference: torch.Tensor) -> Scales:
        """Kept: an expectation's reference is compared with many answers, and nobody writes to it."""
        known = (reference.data_ptr(), tuple(reference.shape), reference.stride())
        if self._scales is None or self._scales[0] != known:
            self._scales = (known, Scales.of(reference))
        return self._scales[1]

    def growth(self) -> float:
        return growth(self.reduction_length, self.systematic)


def compare(reference: torch.Tensor, actual: torch.Tensor, model: ErrorModel,
            lowest: str = "fp32") -> dict:
    """`reference` is wide (or of an integer type) and has the shape of `actual`."""
    return _comparison(reference, actual, model, lowest)[0].run()


def _comparison(reference, actual, model: ErrorModel, lowest: str):
    """(the comparison, the answer as it is compared: complex numbers as pairs)."""
    if reference.is_complex():
        reference, actual = torch.view_as_real(reference), torch.view_as_real(actual.resolve_conj())
        pairs = {name: _paired(getattr(model, name)) for name in ("sensitivity", "storage")}
        model = dataclasses.replace(model, **pairs)
    dtype = _REAL_OF.get(model.dtype, model.dtype)
    return _Comparison(reference, actual, dtype, model, lowest), actual


def unwritten_in(reference: torch.Tensor, actual: torch.Tensor, model: ErrorModel, lowest: str,
                 poison: int) -> int:
    """Elements that still are poison and wrong."""
    comparison, actual = _comparison(reference, actual, model, lowest)
    return unwritten(actual, poison, comparison.failing)


def _paired(tensor):
    """One value an element, for its real and its imaginary part."""
    return None if tensor is None else tensor.unsqueeze(-1).expand(*tensor.shape, 2)


_COUNTS = ("compared", "exact", "failing", "strict", "unstable", "counted")


@dataclasses.dataclass
class _Terms:
    """Of one piece, element by element."""

    y: torch.Tensor
    a: torch.Tensor
    error: torch.Tensor
    bound: torch.Tensor
    strict: torch.Tensor  # the bound of the type's own arithmetic
    s: torch.Tensor
    d: torch.Tensor | None
    exact: torch.Tensor
    ill: torch.Tensor
    wrong: torch.Tensor | None = None  # these three where not all numbers are finite
    plain: torch.Tensor | None = None
    compared: torch.Tensor | None = None
    failing: torch.Tensor | None = None
    ratio: torch.Tensor | None = None


class _Comparison:
    def __init__(self, reference, actual, dtype, model: ErrorModel, lowest: str):
        self.y, self.a, self.dtype, self.model = reference, actual, dtype, model
        self.integer = not dtype.is_floating_point
        self.relative, self.absolute, self.rms_rounding = ROUNDING.get(dtype, (0.0, 0.0, 0.0))
        self.largest = math.inf if self.integer else torch.finfo(dtype).max
        self.saturates = dtype in (torch.float8_e4m3fn, torch.float8_e5m2)
        self.strict_unit = model.factor * model.unit * model.growth()
        self.unit = self.strict_unit
        if model.contracts and dtype != torch.float64:
            self.unit = max(self.unit, model.factor * model.lower_factor * _LOWEST_UNIT.get(lowest, 0.0))
        scales = model.scales_of(reference)
        self.rows, self.rms_output = scales.rows, scales.rms
        self.ordinary = not self.integer and scales.all_finite and all_finite(actual)
        self.largest_reference = scales.largest
        self.parts = []  # figures of the pieces, on the device until all are there
        self.n = dict.fromkeys(
            ("compared", "exact", "failing", "strict", "nan", "infinity", "unstable", "counted"), 0)
        self.sums = dict.fromkeys(("error2", "output2", "sensitivity2", "storage2"), 0.0)
        self.max_abs = self.worst = 0.0
        self.first = self.worst_at = None  # (flat index, expected, got, bound)

    def run(self) -> dict:
        pieces = list(row_major_pieces(self.y.shape, pieces_of(self.y)))
        quick = self.ordinary and not self._near_the_top()
        for index, _ in pieces:
            self.parts.append(self._quick_piece(index) if quick else self._piece(index)[0])
        self._add_up(pieces, quick)
        return self._report()

    def _quick_piece(self, index):
        """The figures of a piece in which nothing is special, wrong or ill-conditioned: a third of the passes
        over memory that _piece takes. They say whether it is such a piece."""
        y, raw = self.y[index], self.a[index]
        exact = (raw == y.to(self.dtype)).sum()
        y = y.to(torch.float64)
        scale, s, d = self._scale(index, y), self.model.sensitivity, self.model.storage
        size = y.abs()
        rest = torch.mul(size, self.relative).add_(self.absolute)
        size.add_(scale)
        s = size if s is None else s[index]
        if d is not None:
            d = d[index]
            rest.add_(d, alpha=STORAGE)

        def bound_of(unit):
            return torch.add(rest, s, alpha=unit * ELEMENT).add_(scale, alpha=unit * FLOOR)

        zero = torch.zeros((), dtype=torch.float64, device=y.device)
        error, bound = torch.sub(raw, y).abs_(), bound_of(self.unit)
        failing = y.numel() - (error <= bound).sum()
        squares = [torch.linalg.vector_norm(t, dtype=torch.float64).square_() for t in (error, y, s)]
        squares.append(zero if d is None else torch.linalg.vector_norm(d, dtype=torch.float64).square_())
        largest = error.max()
        strict = failing if self.unit == self.strict_unit else (error > bound_of(self.strict_unit)).sum()
        ill = zero
        if self.model.sensitivity is not None or self.unit > ILL_CONDITIONED:
            ill = (s > rest.add_(size, alpha=ILL_CONDITIONED).mul_(1 / self.unit)).sum()
        all_of_it = torch.full_like(zero, y.numel())
        figures = [all_of_it, exact, failing, strict, ill, all_of_it, *squares, largest, error.div_(bound).max()]
        return torch.stack([f.to(torch.float64) for f in figures])

    def _scale(self, index, like):
        if self.rows is None:
            return max(self.rms_output, 0.0)
        own = self.rows[index[: self.rows.dim()]].clamp_min(self.rms_output / 64)
        return own.unsqueeze(-1).expand(like.shape) if own.dim() < like.dim() else own

    def _piece(self, index):
        """(the figures of one piece in the order of _FIGURES, its terms). Nothing here waits for the
        device where all numbers are finite: a wait a piece would take longer than the work."""
        y, raw = self.y[index], self.a[index]
        a = raw.to(torch.float64)
        if self.integer:  # as integers: float64 does not tell all of 64 bits apart
            exact = raw == y.to(raw.dtype)
        else:
            exact = raw == y.to(self.dtype)
        y = y.to(torch.float64)
        scale = self._scale(index, y)
        size = y.abs() if self.ordinary else torch.where(torch.isfinite(y), y.abs(), 0)
        rest = self.relative * size + self.absolute
        size = size + scale
        s = self._extra(self.model.sensitivity, index)
        if s is None:
            s = torch.zeros_like(y) if self.integer else size
        d = self._extra(self.model.storage, index)
        if d is not None:
            rest = rest + STORAGE * d
        reach = ELEMENT * s + (0.0 if self.integer else FLOOR * scale)
        bound = torch.add(rest, reach, alpha=self.unit)
        ill = self.unit * s > torch.add(rest, size, alpha=ILL_CONDITIONED)
        error = (a - y).abs_()
        terms = _Terms(y, a, error, bound, torch.add(rest, reach, alpha=self.strict_unit), s, d, exact, ill)
        if self.ordinary and not self._near_the_top():
            return self._figures(terms), terms
        return self._special_piece(terms), terms

    def _near_the_top(self) -> bool:
        """May a reference or its bound reach the largest value of the type?"""
        return not self.largest_reference < 0.25 * self.largest

    def _special_piece(self, t: "_Terms"):
        finite = torch.isfinite(t.y)
        bounded = torch.isfinite(t.s) if t.d is None else torch.isfinite(t.s) & torch.isfinite(t.d)
        special, wrong, nan, infinity = self._special(t.y, t.a, finite, bounded, t.bound)
        plain = finite & bounded & ~special
        t.error = torch.where(plain, t.error, 0)
        if self.integer:  # where an integer is equal it is right, also beyond what float64 tells apart
            t.error = torch.where(t.exact, torch.zeros_like(t.error), t.error)
            t.error = torch.where(plain & ~t.exact, t.error.clamp_min(1.0), t.error)
        self.n["nan"] += nan
        self.n["infinity"] += infinity
        t.wrong, t.plain, t.compared = wrong, plain, (finite & bounded) | ~finite
        return self._figures(t)

    def _figures(self, t: "_Terms"):
        zero = torch.zeros((), dtype=torch.float64, device=t.y.device)
        # NaN where all was finite a moment ago: a hostile process still writes to its window.
        failing = (t.error > t.bound) | torch.isnan(t.error)
        good = ~t.ill
        compared = torch.isfinite(t.s)
        if t.plain is not None:
            failing, good, compared = t.wrong | (t.plain & failing), good & t.plain, t.compared
            unstable = (t.plain & t.ill).sum()
        else:
            unstable = t.ill.sum()
        t.failing = failing
        t.ratio = torch.where(t.error == 0, zero, t.error / t.bound)

        def square(x):
            return torch.where(good, x, zero).square_().sum()

        figures = [
            compared.sum(), t.exact.sum(), failing.sum(), (t.error > t.strict).sum(), unstable,
            good.sum(), square(t.error), square(t.y), square(t.s),
            square(t.d) if t.d is not None else zero, t.error.max(), t.ratio.max(),
        ]
        return torch.stack([f.to(torch.float64) for f in figures])

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
        if self.model.indeterminate:
            infinite = torch.isinf(a) | (a.abs() == self.largest) if self.saturates else torch.isinf(a)
            right = right | (torch.isnan(y) & infinite)
        # Near the top of the type's range overflow is right, and so is the largest value.
        over = top & (a == torch.copysign(torch.full_like(y, math.inf), y))
        if self.saturates:
            over = over | (top & (torch.isnan(a) | (a == limit)))
        wrong = (~finite & ~right) | (finite & bounded & ~torch.isfinite(a) & ~over)
        nan = int((wrong & torch.where(finite, torch.isnan(a), nan_wanted)).sum())
        infinity = int(wrong.sum()) - nan
        return odd | over, wrong, nan, infinity

    def _add_up(self, pieces, quick: bool) -> None:
        if not pieces:
            return
        table = torch.stack(self.parts).cpu()
        self.parts = []
        if quick:
            sound = torch.isfinite(table).all(1) & (table[:, _COUNTS.index("failing")] == 0)
            sound &= table[:, _COUNTS.index("unstable")] == 0
            for k in torch.nonzero(~sound).view(-1).tolist():
                table[k] = self._piece(pieces[k][0])[0].cpu()
        for k, row in enumerate(table.tolist()):
            for key, value in zip(_COUNTS, row):
                self.n[key] += int(value)
            for key, value in zip(self.sums, row[len(_COUNTS):]):
                self.sums[key] += value
        errors, ratios = table[:, -2], table[:, -1]
        self.max_abs, self.worst = float(errors.max()), float(torch.nan_to_num(ratios, nan=0.0, posinf=math.inf).max())
        failing = torch.nonzero(table[:, _COUNTS.index("failing")])
        if len(failing):
            self.first = self._witness(*pieces[int(failing[0])], "failing")
        elif self.worst > 0:
            self.worst_at = self._witness(*pieces[int(ratios.argmax())], "ratio")

    def failing(self, index) -> torch.Tensor:
        """Which elements of a piece are out of their bounds."""
        return self._again(index).failing.expand_as(self.y[index])

    def _again(self, index) -> "_Terms":
        """The terms of a piece: no more than one piece's are ever there."""
        counted = dict(self.n)
        terms = self._piece(index)[1]
        self.n = counted
        return terms

    def _witness(self, index, begin, name: str):
        terms = self._again(index)
        at = int(getattr(terms, name).reshape(-1).to(torch.float64).argmax())
        return begin + at, *(float(t.expand_as(terms.y).reshape(-1)[at])
                             for t in (terms.y, terms.a, terms.bound))

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
        tf32 = self.model.lower_factor * _LOWEST_UNIT["tf32"]
        levels = (("fp32", 2.0**-24 * self.model.growth()), ("tf32", tf32), ("bf16", 2.0**-8))
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
        first = self.first or (self.worst_at if rms_failed else None)
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
