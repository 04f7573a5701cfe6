"""The reference in float64, and how far its results move when every operation rounds.

    with Float64() as run:                       # whatever dtypes forward names
        y = call(model64, inputs64)
    run.reduction_length, run.flops

    with Float64(Perturbation(seed, trial=3, trials=8, systematic=False)): …

docs/numerics.md derives what is perturbed and by how much; src/task/error_model.cpp does the same
for native tasks.
"""

import contextlib
import functools
import math

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .contraction import Contraction, is_known
from .drawing import drawn, draws
from .operators import (
    cancellation, contracts, flops_of, is_exact, never_replaced, reduction_length_of,
)
from .perturbation import Perturbation

UNIT_FP32 = 2.0**-24
UNITS = {
    torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8, torch.float8_e4m3fn: 2.0**-4, torch.float8_e5m2: 2.0**-3,
}
_WIDE = {torch.complex64: torch.complex128, torch.complex32: torch.complex128}


def growth(length: float, systematic: bool) -> float:
    n = max(1.0, length)
    return 2 + (n / 4 if systematic else math.sqrt(n))


def widened(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype.is_floating_point else _WIDE.get(dtype, dtype)


def widen(tensor: torch.Tensor) -> torch.Tensor:
    wide = widened(tensor.dtype)
    return tensor if wide == tensor.dtype else tensor.to(wide)


class Float64(TorchDispatchMode):
    """Runs operators in float64 whatever their operands and arguments say."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and importing the compiler takes seconds

    def __init__(self, perturbation: Perturbation | None = None, declared: bool = False,
                 count_only: bool = False, brief: bool = False, first=None):
        super().__init__()
        self.brief = brief
        self.count_only = count_only  # run in the operands' own types
        self.perturbation = perturbation
        self.declared = declared  # follow which results the task's own types would round
        self.reduction_length, self.contracts, self.operations = 1.0, False, 0
        self.rounding_operations = 0
        self.adds = False  # an operator whose deviation is known
        self.averages = False  # results of contractions meet in a later sum
        self.first: Contraction | None = first  # of the run that is repeated here
        self.flops: dict[str, float] = {}
        self.narrow = False  # a result of a narrower type than f32 was seen
        self.complex = False
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        self._own_default = torch.get_default_dtype()
        self._stack.enter_context(_Decomposed(self))
        if not self.count_only:
            self._stack.enter_context(_default_dtype(torch.float64))
        self._stack.enter_context(torch.no_grad())
        return super().__enter__()

    def __exit__(self, *error):
        done = super().__exit__(*error)
        self._stack.close()
        return done

    def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = func._schema.name
        if name in ("aten::_local_scalar_dense", "prim::device"):
            return func(*args, **kwargs)
        self.operations += 1
        if self.count_only:
            return self._counted(func, args, kwargs)
        if draws(name):
            return drawn(func, args, kwargs, self._own_default)
        source = 16 * self.operations
        dtype = self._declared_of(func, args, kwargs) if self.declared else None
        if isinstance(kwargs.get("dtype"), torch.dtype):
            kwargs["dtype"] = widened(kwargs["dtype"])
        args = tuple(widened(a) if isinstance(a, torch.dtype) else a for a in args)
        names, written, exact = _facts(func)
        length = 1.0 if exact else reduction_length_of(name, args, kwargs)
        result = None
        if not exact:
            self.rounding_operations += 1
            result = self._repeated(name, source, length)
        if result is None:
            args, kwargs = self._operands(func, args, kwargs, names, written, exact, length, source)
            result = func(*args, **kwargs)
            if self._begins(exact):
                self.first = Contraction.of(func, args, kwargs, result, length)
        if not exact:
            self._count(name, args, kwargs, result, length)
        if self.perturbation is not None and not (exact and dtype is None):
            result = self._rounded(func, name, args, kwargs, result, exact, length, source, dtype)
        if self.declared:
            self._tag(result, dtype, None if exact and _is_view(func) else self.operations, args)
        return result

    def _begins(self, exact: bool) -> bool:
        """Is this the first operator that rounds, of a run that trials will repeat?"""
        once = self.perturbation is None and not self.declared
        return once and not exact and self.rounding_operations == 1

    def _repeated(self, name, source, length):
        """The first contraction's result in a trial, or None: computed in float64 once."""
        move = self.perturbation
        repeats = move is not None and move.storage_skip is None and self.rounding_operations == 1
        if not repeats or self.first is None or not self.first.valid(name):
            return None
        if move.shift:
            return self.first.result
        return self.first.moved(move, UNIT_FP32 * growth(length, move.systematic), source)

    def recurrent(self, func, args, kwargs):
        """A recurrent layer, all of its steps: inputs, states and weights move, and its results."""
        self.operations += 1
        self.rounding_operations += 1
        tensors = list(_tensors(args))
        matrices = [t for t in tensors if t.dim() == 2 and t.is_floating_point()]
        length = float(max((t.shape[1] for t in matrices), default=1))
        steps = tensors[0].numel() / max(1, tensors[0].shape[-1])
        self.contracts = True
        self.reduction_length = max(self.reduction_length, length)
        flops = 2.0 * steps * sum(t.numel() for t in matrices if t is not tensors[0])
        self.flops["contracting"] = self.flops.get("contracting", 0.0) + flops
        move, slot = self.perturbation, 0
        moves = move is not None and move.storage_skip is None and not move.shift
        amount = UNIT_FP32 * growth(length, move.systematic) if moves else 0.0

        def moved(value):
            nonlocal slot
            if isinstance(value, (list, tuple)):
                return type(value)(moved(v) for v in value)
            if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                return value
            slot += 1
            source = 16 * self.operations + slot
            value = value if self.count_only else widen(value)
            return move.move(value, amount, source) if moves and value.numel() else value

        args = moved(tuple(args))
        with _disable_current_modes():
            result = func(*args, **kwargs)
        return moved(result)

    def _operands(self, func, args, kwargs, names, written, exact, length, source):
        move = self.perturbation
        amount = 0.0
        # With thousands of operators only sums' operands move: elsewhere the result's change does.
        wanted = not exact and (length > 1 or not self.brief) and not (move and move.shift)
        if move is not None and move.storage_skip is None and wanted:
            amount = UNIT_FP32 * growth(length, move.systematic)
        kept = never_replaced(func._schema.name)
        slot = 0

        def one(value, name, position):
            nonlocal slot
            if isinstance(value, torch.Tensor):
                slot += 1
                if name in written or position in kept:
                    return value
                value = _wide_like(value)
                moving = value.is_floating_point() or value.is_complex()
                if amount and moving and value.numel():
                    value = move.move(value, amount, source + slot)
                return value
            if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
                return type(value)(one(v, name, position) for v in value)
            return value

        args = tuple(one(a, names[i], i) for i, a in enumerate(args))
        return args, {k: one(v, k, -1) for k, v in kwargs.items()}

    def _rounded(self, func, name, args, kwargs, result, exact, length, source, dtype):
        move = self.perturbation
        if move.shift:
            return result if exact else self._spread(func, name, args, kwargs, result, length, source)
        if move.storage_skip is None:
            if exact:
                return result
            amount = UNIT_FP32 * growth(length, move.systematic)
        else:
            own = UNITS.get(dtype, 0.0) if dtype is not None else 0.0
            if own <= UNIT_FP32 or exact or self.operations in move.storage_skip:
                return result
            amount = own
        cancels = cancellation(name) if move.storage_skip is None else None
        argument = next((a for a in args if isinstance(a, torch.Tensor)), None)

        def one(t):
            if not isinstance(t, torch.Tensor) or not t.numel():
                return t
            if not (t.is_floating_point() or t.is_complex()):
                return t
            # Nobody else's: operators that return views are exact, and written operands are in args.
            moved = move.move(t, amount, source, own=self.first is None or t is not self.first.result)
            if cancels and argument is not None and argument.shape == t.shape:
                scale = torch.ones_like(t) if cancels == "one" else argument.abs()
                moved = move.move(moved, amount, source + 15, torch.nan_to_num(scale, 0, 0, 0))
            if any(t is a for a in args):  # written in place: callers hold this very tensor
                return t if moved is t else t.copy_(moved)
            return moved

        if isinstance(result, (list, tuple)):
            return type(result)(one(t) for t in result)
        return one(result)

    def _spread(self, func, name, args, kwargs, result, length, source):
        """A contraction's or sum's result, moved by what its rounding amounts to, element by element."""
        move = self.perturbation
        if not is_known(name):
            return result
        known = self.first is not None and result is self.first.result
        found = self.first if known else Contraction.of(func, args, kwargs, result, length)
        if found is None:
            return result
        amount = move.reach * UNIT_FP32 * growth(length, move.systematic)
        return move.shifted(result, amount, found.deviation(), source)

    def _counted(self, func, args, kwargs):
        result = func(*args, **kwargs)
        if not is_exact(func):
            length = reduction_length_of(func._schema.name, args, kwargs)
            self._count(func._schema.name, args, kwargs, result, length)
        return result

    def _count(self, name, args, kwargs, result, length):
        self.reduction_length = max(self.reduction_length, length)
        kind = "contracting" if contracts(name) else "other"
        self.averages |= self.contracts and length > 1
        self.contracts |= kind == "contracting"
        self.adds |= is_known(name)
        self.flops[kind] = self.flops.get(kind, 0.0) + flops_of(name, args, result, length)
        self.complex |= any(isinstance(a, torch.Tensor) and a.is_complex() for a in args)

    def _declared_of(self, func, args, kwargs):
        """The type that the result would have without this mode."""
        asked = kwargs.get("dtype") or next((a for a in args if isinstance(a, torch.dtype)), None)
        if asked is not None:
            return asked if asked.is_floating_point else None
        found, scalars = None, None
        for t in _tensors(args):
            own = getattr(t, "_fiel_declared", t.dtype)
            if not own.is_floating_point:
                continue
            if t.dim():
                found = own if found is None else torch.promote_types(found, own)
            else:
                scalars = own
        return found or scalars

    def _tag(self, result, dtype, source, args):
        if source is None:
            first = next(iter(_tensors(args)), None)
            source = getattr(first, "_fiel_source", None)
        for t in _tensors((result,)):
            if dtype is not None and t.is_floating_point():
                t._fiel_declared = dtype
                self.narrow |= UNITS.get(dtype, 0.0) > UNIT_FP32
            t._fiel_source = source


class _Decomposed(TorchFunctionMode):
    """Attention as the operators that it consists of: each rounds. Recurrent layers as one operator:
    their thousands of steps would each cost more in Python than in float64."""

    def __init__(self, float64: "Float64"):
        super().__init__()
        self.float64 = float64

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            if self.float64.count_only or not self.float64.declared:
                return self.float64.recurrent(func, args, kwargs)
            with _without_cudnn():
                return func(*args, **kwargs)
        if name == "scaled_dot_product_attention":
            from torch.nn.attention import SDPBackend, sdpa_kernel

            with sdpa_kernel(SDPBackend.MATH):
                return func(*args, **kwargs)
        return func(*args, **kwargs)


@contextlib.contextmanager
def _without_cudnn():
    before = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = before


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _wide_like(tensor: torch.Tensor) -> torch.Tensor:
    wide = widen(tensor)
    if wide is not tensor and hasattr(tensor, "_fiel_declared"):
        wide._fiel_declared = tensor._fiel_declared
    return wide


@functools.lru_cache(maxsize=4096)
def _facts(func) -> tuple[list[str], set[str], bool]:
    """(names of the arguments, which of them it writes, is it free of rounding)"""
    arguments = func._schema.arguments
    written = {a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write}
    return [a.name for a in arguments], written, is_exact(func)


def _is_view(func) -> bool:
    return any(a.alias_info is not None for a in func._schema.arguments)


def _tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
