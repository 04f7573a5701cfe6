"""May a reference be evaluated a part of its batch at a time?

    places, rows = batch_of(task, inputs, weights)     # ([], 0): no

Tried in float64 on four entries of the batch, where entries that meet show beyond any rounding: a
mean over the whole batch of a large input hardly differs from a part's.
"""

from ..channel import Fault
from ..values import flatten, rebuild
from .bound import ErrorModel, accepted, compare
from .expectation import expect

_ENTRIES = 4


def batch_of(task, inputs, weights) -> tuple[list, int]:
    """The inputs to cut, as (leaf, dimension 0), and the size of the batch; known once a shape."""
    shapes = tuple(tuple(t.shape) for _, t in flatten(inputs)[1])
    if shapes not in task.batches:
        task.batches[shapes] = _found(task, inputs, weights)
    return task.batches[shapes]


def _found(task, inputs, weights):
    leaves = [t for _, t in flatten(inputs)[1]]
    rows = next((t.shape[0] for t in leaves if t.dim()), 0)
    places = [(i, 0) for i, t in enumerate(leaves) if t.dim() and t.shape[0] == rows]
    if rows < _ENTRIES:
        return [], 0
    for some in (places, places[:1]):  # square matrices: the second factor is no batch
        try:
            if _separable(task, inputs, weights, {leaf for leaf, _ in some}):
                return some, rows
        except (RuntimeError, ValueError, IndexError, TypeError, Fault):
            continue  # shapes that the module insists on
    return [], 0


def _separable(task, inputs, weights, cut: set) -> bool:
    whole = _answer(task, inputs, weights, cut, 0, _ENTRIES)
    for begin in (0, _ENTRIES // 2):
        part = _answer(task, inputs, weights, cut, begin, begin + _ENTRIES // 2)
        if part.state or len(part.outputs) != len(whole.outputs):
            return False
        for a, b in zip(whole.outputs, part.outputs):
            if a.reference.dim() == 0 or a.reference.shape[0] != _ENTRIES:
                return False
            wanted = a.reference[begin : begin + _ENTRIES // 2]
            if wanted.shape != b.reference.shape:
                return False
            exact = ErrorModel(wanted.dtype, unit=2.0**-53, factor=64.0)
            if not accepted(compare(wanted, b.reference, exact)):
                return False
    return True


def _answer(task, inputs, weights, cut, begin, end):
    tree, leaves = flatten(inputs)
    tensors = [t[begin:end] if i in cut else t for i, (_, t) in enumerate(leaves)]
    return expect(task.model64(weights), rebuild(tree, tensors), task.output_dtypes, task.device, 3,
                  False, task.narrow, measure=False)
