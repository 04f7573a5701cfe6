"""What a case must answer: the float64 reference, its error models, the state afterwards.

    expectation = expect(task, inputs, systematic=False, seed=7)
    expectation.outputs[0].reference, .model
"""

import dataclasses

import torch

from ..channel import Fault
from ..values import flatten, rebuild
from .bound import ROUNDING, ErrorModel, unit_of
from .model_state import State, named_state
from .perturbation import Perturbation
from .precision import UNIT_FP32, Float64, growth, widen
from .slices import all_finite, holds_nan, pieces_of, row_major_pieces
from .task_module import call, seed_everything

TRIALS, FEW_TRIALS, FEWEST_TRIALS = 8, 4, 2
FEW_TRIALS_FLOPS, FEWEST_TRIALS_FLOPS = 5e7, 1e11  # of a CPU
MANY_OPERATIONS = 2000  # a recurrent net: each costs a tenth of a millisecond a trial
FEW_TRIALS_OPERATIONS = 200  # a convolutional net: half a millisecond each, however small its tensors are
FEW_TRIALS_ELEMENTS, FEWEST_TRIALS_ELEMENTS = 1 << 26, 1 << 28
_GPU_FASTER = 1000  # in float64, H200 against two cores
# Errors that a clamp lets through: an element `e` units from its kink passes on up to 4 - e of the 4 that
# an error reaches (docs/numerics.md); shifted by 6 it moves by (6 - e) / 6, and 8 of those are allowed.
_REACH = 6.0
_UNIT_TF32 = 2.0**-11
_BLOCK = 64  # neighbours whose mean sensitivity stands in for missing trials
_DOUBLES_KEPT = 1 << 26  # elements whose sensitivity is kept in float64


@dataclasses.dataclass
class Expected:
    path: str
    reference: torch.Tensor  # wide, contiguous
    model: ErrorModel


@dataclasses.dataclass
class Expectation:
    tree: dict
    outputs: list[Expected]
    state: list[Expected]  # buffers that a call changes
    run: Float64

    def nbytes(self) -> int:
        total = 0
        for e in self.outputs + self.state:
            for t in (e.reference, e.model.sensitivity, e.model.storage):
                total += t.numel() * t.element_size() if t is not None else 0
        return total


class Wide:
    """The reference in float64 on one case's inputs, evaluated as often as wanted."""

    def __init__(self, model64: torch.nn.Module, inputs, seed: int, device: str):
        self.model, self.device, self.seed = model64, device, seed
        self.tree, leaves = flatten(inputs)
        self._own = [t for _, t in leaves]
        self._wide, self._versions = None, None
        self._state = State(model64)
        self._before = {n: t.clone() for n, k, t in named_state(model64) if k == "buffer"}

    def evaluate(self, mode: Float64):
        """(tree, outputs, changed state): tensors that are nobody else's."""
        inputs = rebuild(self.tree, self._widened(mode.declared))
        seed_everything(self.seed)
        try:
            with mode:
                result = call(self.model, inputs)
            tree, leaves = flatten(result)
            tags = [getattr(t, "_fiel_source", None) for _, t in leaves]
            outputs = [(path, _kept(t, self._shared())) for path, t in leaves]
            state = [(n, t.clone()) for n, k, t in named_state(self.model)
                     if k == "buffer" and not _same(t, self._before.get(n))]
        finally:
            self._state.restore()
        return tree, outputs, state, tags

    def _shared(self) -> set:
        tensors = [t for _, _, t in named_state(self.model)] + list(self._wide)
        return {t.untyped_storage().data_ptr() for t in tensors}

    def _widened(self, declared: bool):
        stale = self._wide is None or [t._version for t in self._wide] != self._versions
        if stale:  # the first time, or forward writes into its inputs
            self._wide = [widen(t) if widen(t) is not t else t.clone() for t in self._own]
            self._versions = [t._version for t in self._wide]
        if declared:
            for wide, own in zip(self._wide, self._own):
                wide._fiel_declared = own.dtype
        return self._wide


def expect(model64, inputs, output_dtypes, device: str, seed: int, systematic: bool,
           narrow: bool, measure: bool = True, parts: float = 1) -> Expectation:
    """`parts`: how many times the work is of which this is a part."""
    wide = Wide(model64, inputs, seed, device)
    run = Float64(declared=narrow)
    tree, outputs, state, tags = wide.evaluate(run)
    if len(outputs) != len(output_dtypes):
        raise Fault("task", "the reference returns another structure in float64")
    dtypes = list(output_dtypes) + [None] * len(state)
    indeterminate = not any(holds_nan(t) for _, t in flatten(inputs)[1])
    items = []
    for (path, value), dtype in zip(outputs + state, dtypes):
        model = ErrorModel(
            dtype or _narrowed(value.dtype), unit_of(output_dtypes), run.reduction_length, systematic,
            contracts=run.contracts, indeterminate=indeterminate)
        items.append(Expected(path, value, model))
    if measure and run.operations:
        _measure(wide, run, items, seed, systematic, tags if run.narrow else None, parts)
    for item in items[len(outputs):]:
        _allow_an_update(item)
    return Expectation(tree, items[: len(outputs)], items[len(outputs):], run)


def _allow_an_update(item: Expected) -> None:
    """A buffer is updated inside of the operator that reads it (momentum: two products and a sum), where
    no perturbation reaches: a rounding of its size, whatever class its inputs are computed in."""
    if not item.reference.is_floating_point():
        return
    rounding = item.reference.abs() * ROUNDING.get(item.model.dtype, (0.0,))[0]
    known = item.model.storage
    item.model.storage = rounding if known is None else torch.maximum(known, rounding)


def expect_own_types(outputs, tree, systematic: bool) -> Expectation:
    """Where float64 is impossible (quantised operators): the answer in the task's own types, under
    a bound of the output's own scale."""
    dtypes = [t.dtype for _, t in outputs]
    items = [
        Expected(path, widen(t).contiguous(), ErrorModel(t.dtype, unit_of(dtypes), 1.0, systematic))
        for path, t in outputs
    ]
    return Expectation(tree, items, [], Float64())


def _measure(wide: Wide, run: Float64, items: list[Expected], seed, systematic, tags,
             parts: float) -> None:
    trials = _trials(wide, run, items, parts)
    many = run.operations > MANY_OPERATIONS
    unit = UNIT_FP32 * growth(run.reduction_length, systematic)

    def drawn(trial):
        return Float64(Perturbation(seed, trial, trials, systematic), brief=many, first=run.first)

    # Products may run in a lower class.
    reach = _REACH * (max(1.0, _UNIT_TF32 / unit) if run.contracts else 1.0)

    # One and the other bring out what a kink hides. All away from zero is what operands cut to TF32
    # amount to: no average takes that out again.
    shifts = ["one", "other"] + ["all"] * run.averages

    def shifted(trial):
        shift = Perturbation(seed + 2, 0, TRIALS, systematic, shift=shifts[trial], reach=reach)
        return Float64(shift, brief=many, first=run.first)

    computes = run.adds and run.operations <= MANY_OPERATIONS
    alone = run.first is not None and run.rounding_operations == 1
    if not (alone and all(item.reference.is_floating_point() for item in items)):
        for item, sensitivity in zip(items, _moved(wide, items, trials, unit, drawn, not (computes and run.contracts))):
            item.model.sensitivity = sensitivity
    if computes:
        for item, least in zip(items, _moved(wide, items, len(shifts), reach * unit, shifted, False, furthest=True)):
            drawn_one = item.model.sensitivity
            item.model.sensitivity = least if drawn_one is None else _at_least(drawn_one, least)
    run.first = None  # holds tensors of the task's size
    if tags is None:
        return
    skip = {t for t in tags if t is not None}

    def storing(trial):
        kind = Perturbation(seed + 1, trial, trials, systematic, storage_skip=skip)
        return Float64(kind, declared=True)

    for item, storage in zip(items, _moved(wide, items, trials, 1.0, storing, True)):
        item.model.storage = storage


def _trials(wide: Wide, run: Float64, items: list[Expected], parts: float) -> int:
    flops = parts * sum(run.flops.values())
    faster = 1 if wide.device == "cpu" else _GPU_FASTER
    largest = parts * max(item.reference.numel() for item in items)
    if (flops > FEWEST_TRIALS_FLOPS * faster or run.operations > 4 * MANY_OPERATIONS
            or largest > FEWEST_TRIALS_ELEMENTS):
        return FEWEST_TRIALS
    few = flops > FEW_TRIALS_FLOPS * faster or run.operations > FEW_TRIALS_OPERATIONS
    return FEW_TRIALS if few or largest > FEW_TRIALS_ELEMENTS else TRIALS


def _at_least(drawn: torch.Tensor, shifted: torch.Tensor) -> torch.Tensor:
    """Trials leave an element in millions looking insensitive by chance, and one that a clamp or a
    maximum hides, though the errors of its class bring it out: it moves where products are shifted."""
    for index, _ in row_major_pieces(drawn.shape, pieces_of(drawn)):
        torch.maximum(drawn[index], shifted[index], out=drawn[index])
    return drawn


def _moved(wide, items, trials, unit, mode_of, pool: bool, furthest: bool = False) -> list[torch.Tensor]:
    """By how much each element moves, in units of `unit`: in rms over the trials, or the furthest."""
    sums, finite = [], []
    for item in items:
        size = item.reference.numel()
        dtype = torch.float64 if size <= _DOUBLES_KEPT else torch.float32
        sums.append(torch.zeros(item.reference.shape, dtype=dtype, device=item.reference.device))
        finite.append(all_finite(item.reference))
    for trial in range(trials):
        _, outputs, state, _ = wide.evaluate(mode_of(trial))
        found = dict(state)
        values = [v for _, v in outputs]
        values += [found.get(item.path) for item in items[len(outputs):]]
        del outputs, state
        for item, value, total, ordinary in zip(items, values, sums, finite):
            if value is None or value.shape != item.reference.shape:
                total.fill_(torch.inf)  # as many results as the data say: no bound holds
                continue
            _add_square(item.reference, value, total, 1 / unit, ordinary, furthest)
    for item, total in zip(items, sums):
        torch.nan_to_num_(total, nan=torch.inf, posinf=torch.inf)
        total.div_(1 if furthest else trials)
        if pool and trials < TRIALS and item.reference.is_floating_point():
            _pool_neighbours(total.view(-1), trials)
        total.sqrt_()
    return sums


def _pool_neighbours(squares: torch.Tensor, trials: int) -> None:
    """Few trials leave one element in ten thousand (four) or in a hundred (two) looking insensitive
    by chance: the mean of each block counts as another trial, or two."""
    weight = 1 if trials == FEW_TRIALS else 2
    for begin in range(0, squares.numel(), _BLOCK << 18):
        piece = squares[begin : begin + (_BLOCK << 18)]
        whole = piece[: piece.numel() // _BLOCK * _BLOCK].view(-1, _BLOCK)
        for part in (whole, piece[whole.numel() :].view(1, -1)):
            if part.numel():
                finite = torch.where(torch.isfinite(part), part, torch.zeros_like(part))
                mean = finite.mean(1, keepdim=True)
                part.mul_(trials).add_(mean, alpha=weight).div_(trials + weight)


def _add_square(reference, moved, total, scale: float, ordinary: bool, furthest: bool) -> None:
    """What is not finite in `total` afterwards, NaN too, has no bound."""
    for index, _ in row_major_pieces(reference.shape, pieces_of(reference)):
        a, b, sum_ = reference[index], moved[index], total[index]
        if not a.is_complex():
            a, b = a.to(torch.float64), b.to(torch.float64)
        gap = b - a
        gap = gap.abs() if gap.is_complex() else gap
        if not ordinary:
            gap.masked_fill_((a == b) | ~torch.isfinite(a), 0)
        if furthest:
            torch.maximum(sum_, gap.mul_(scale).square_().to(sum_.dtype), out=sum_)
        elif sum_.dtype == gap.dtype:
            sum_.addcmul_(gap, gap, value=scale * scale)
        else:
            gap = gap.mul_(scale).to(sum_.dtype)
            sum_.addcmul_(gap, gap)


def _kept(tensor: torch.Tensor, shared: set) -> torch.Tensor:
    """Contiguous, and not the memory of an input or of the module."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    own = tensor.contiguous()
    alias = own.untyped_storage().data_ptr() in shared
    return own.clone() if alias else own


def _same(a: torch.Tensor, b) -> bool:
    return b is not None and a.shape == b.shape and torch.equal(a, b)


def _narrowed(dtype: torch.dtype) -> torch.dtype:
    return {torch.float64: torch.float32, torch.complex128: torch.complex64}.get(dtype, dtype)


def expect_in_rows(model64, inputs, places, rows: int, step: int, *arguments, **more) -> Expectation:
    """The same for tasks whose batch entries do not meet: a slice of the batch at a time, so that
    only the results are ever there whole. `places` are (leaf, dimension 0) of the batch."""
    tree, leaves = flatten(inputs)
    cut = {leaf for leaf, _ in places}
    whole = None
    for begin in range(0, rows, step):
        tensors = [t[begin : begin + step] if i in cut else t for i, (_, t) in enumerate(leaves)]
        part = expect(model64, rebuild(tree, tensors), *arguments, parts=rows / step, **more)
        if part.state or any(e.reference.dim() == 0 for e in part.outputs):
            raise Fault("memory", "the reference cannot be evaluated a part of the batch at a time")
        if whole is None:
            whole = _with_room(part, rows, min(step, rows))
        for e, p in zip(whole.outputs, part.outputs):
            e.reference[begin : begin + step] = p.reference
            e.model.indeterminate &= p.model.indeterminate
            for name in ("sensitivity", "storage"):
                if getattr(e.model, name) is not None:
                    getattr(e.model, name)[begin : begin + step] = getattr(p.model, name)
    return whole


def _with_room(part: Expectation, rows: int, step: int) -> Expectation:
    def room(tensor, dtype=None):
        if tensor is None:
            return None
        return torch.empty((rows, *tensor.shape[1:]), dtype=dtype or tensor.dtype, device=tensor.device)

    outputs = []
    for e in part.outputs:
        if e.reference.shape[0] != step:
            raise Fault("memory", "an output of the reference has no batch to divide")
        kept = torch.float32 if e.reference.numel() // step * rows > _DOUBLES_KEPT else torch.float64
        model = dataclasses.replace(e.model, sensitivity=room(e.model.sensitivity, kept),
                                    storage=room(e.model.storage, kept))
        outputs.append(Expected(e.path, room(e.reference), model))
    return Expectation(part.tree, outputs, [], part.run)
