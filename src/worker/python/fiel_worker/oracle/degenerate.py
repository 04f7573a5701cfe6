"""Tasks on which a wrong answer cannot be told from a right one.

    void, warning = degenerate(task)

A task is void where zeros, a constant, or the answer to other inputs stays within the bound on every
probe and under every weights. What stays within it under the task's own weights alone is a warning:
fresh weights tell. The bound costs a float64 reference, so that it is asked only where the outputs
in the task's own types look suspicious.
"""

import torch

from ..values import flatten, rebuild
from .bound import accepted, compare
from .cases import Cases
from .probes import Recipe
from .slices import pieces_of, row_major_pieces

_PLAN = (("given", "task-inputs", 5), ("given", "task-inputs", 6), ("given", "mixed-signs", 7),
         ("given", "scale-range", 8), ("given", "offset-mean", 9),
         (41, "task-inputs", 5), (41, "task-inputs", 6), (41, "mixed-signs", 7))
_ALIKE = 0.01  # of the rms: outputs that differ by less look suspicious
_JITTER, _NOISE = 2.0**-14, 0.25


def degenerate(task) -> tuple[str | None, str | None]:
    """(why the task is void or None, a warning or None)."""
    if not _suspicious(task):
        return None, None
    cases = Cases(task)
    passing, seen, own_weights = None, {}, None
    for weights, probe, seed in _PLAN:
        case = cases.make_case(Recipe(probe, 0, seed), weights)
        cases.prepare(case)
        if case.dropped is None:
            seen.setdefault(weights, []).append(case)
            impostors = _passing(cases, case, seen[weights])
            passing = impostors if passing is None else passing & impostors
            if weights == "given":
                own_weights = set(passing)
        if passing is not None and not passing:
            break
    told = own_weights and sum(len(group) for group in seen.values()) > 1
    if told and passing:
        return f"{_words(passing)} on every probe and under other weights", None
    if told and own_weights:
        return None, f"under the task's own weights {_words(own_weights)}: only fresh weights tell"
    return None, None


def _words(names: set) -> str:
    """The plainest of what passes."""
    if "zeros" in names:
        return "zeros pass"
    if "the answer to other inputs" in names:
        return "the outputs do not depend on the inputs: the answer to other inputs passes"
    return "a constant passes"


def _passing(cases, case, group) -> set:
    """Which impostors stay within this case's bound; one that was not tried counts as passing."""
    expectation = cases.expectation(case)
    before = [cases.expectation(c) for c in group[:-1] if c.recipe != case.recipe]
    found = {"zeros", "a constant", "the answer to other inputs"}
    for i, e in enumerate(expectation.outputs):
        first = cases.expectation(group[0]).outputs[i].reference
        answers = {"zeros": torch.zeros_like, "a constant": lambda y: torch.full_like(y, _mean(first))}
        if before:
            answers["the answer to other inputs"] = lambda y: before[-1].outputs[i].reference
        for name, answer in answers.items():
            got = answer(e.reference).to(e.model.dtype)
            if name in found and not accepted(compare(e.reference, got, e.model)):
                found.discard(name)
    return found


def _mean(tensor) -> float:
    return float(torch.nan_to_num(_real(tensor), 0, 0, 0).mean()) if tensor.numel() else 0.0


def _real(tensor):
    return torch.view_as_real(tensor).to(torch.float64) if tensor.is_complex() else tensor.to(torch.float64)


def _suspicious(task) -> bool:
    """Are the outputs the same for other inputs, all but constant, or nothing but rounding?"""
    inputs = task.draw(Recipe("task-inputs", 0, 5))
    _, first = task.run(inputs, 1)
    if any(_nearly_constant(t) for _, t in first if t.numel() > 1):
        return True
    _, jittered = task.run(_jittered(inputs), 1)
    if any(_difference(a, b) > _NOISE for (_, a), (_, b) in zip(first, jittered)):
        return True
    del inputs, jittered
    _, other = task.run(task.draw(Recipe("task-inputs", 0, 6)), 1)
    return all(_difference(a, b) < _ALIKE for (_, a), (_, b) in zip(first, other))


def _jittered(inputs):
    tree, leaves = flatten(inputs)
    generator = torch.Generator().manual_seed(3)

    def moved(t):
        if not t.is_floating_point() or t.element_size() < 4:
            return t
        signs = torch.randint(2, (min(4099, max(1, t.numel())),), generator=generator)
        factors = 1 + _JITTER * (2 * signs.to(t.dtype) - 1)
        repeats = -(-t.numel() // factors.numel()) if t.numel() else 0
        return t * factors.to(t.device).repeat(repeats)[: t.numel()].view(t.shape)

    return rebuild(tree, [moved(t) for _, t in leaves])


def _nearly_constant(tensor) -> bool:
    if not tensor.is_floating_point():
        return bool((tensor == tensor.reshape(-1)[0]).all())
    mean, square, count = 0.0, 0.0, 0
    for index, _ in row_major_pieces(tensor.shape, pieces_of(tensor)):
        piece = torch.nan_to_num(tensor[index], 0, 0, 0).to(torch.float64)
        mean, square, count = mean + piece.sum(), square + piece.square().sum(), count + piece.numel()
    mean, square = float(mean) / count, float(square) / count
    return square - mean**2 <= _ALIKE**2 * square


def _difference(a, b) -> float:
    """rms(a − b) / rms(a); for whole numbers the share that differs."""
    if a.shape != b.shape:
        return 1.0
    if not (a.is_floating_point() or a.is_complex()):
        return float((a != b).to(torch.float32).mean()) if a.numel() else 0.0
    gap, size = 0.0, 0.0
    for index, _ in row_major_pieces(a.shape, pieces_of(a)):
        x, y = (torch.nan_to_num(_real(t[index]), 0, 0, 0) for t in (a, b))
        gap, size = gap + (x - y).square().sum(), size + x.square().sum()
    gap, size = float(gap), float(size)
    return (gap / size) ** 0.5 if size > 0 else float(gap > 0)
