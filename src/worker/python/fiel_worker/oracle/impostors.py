"""Answers that nobody should accept. A task that one of them passes on every case is void."""

import torch

from ..values import flatten
from .bound import accepted, compare
from .cases import Case, Cases


def impostors(cases: Cases, chosen: list[Case], lowest: str = "fp32") -> list[dict]:
    chosen = [c for c in chosen if c.dropped is None and c.recipe.probe != "special-values"]
    if not chosen:
        return []
    expected = cases.expectation(chosen[0]).outputs
    rows = []
    for o, e in enumerate(expected):
        suffix = f" as '{e.path}'" if len(expected) > 1 else ""
        if e.reference.numel() == 0:
            continue
        for name, answer in _answers(cases, chosen, o):
            rows.append(_try(cases, chosen, o, name + suffix, answer, lowest))
    return rows


def _answers(cases: Cases, chosen, o):
    def constant(case: Case):
        y = cases.expectation(chosen[0]).outputs[o].reference
        finite = torch.nan_to_num(y.to(torch.float64) if not y.is_complex() else y.real, 0, 0, 0)
        return torch.full_like(_rounded(cases, case, o), float(finite.mean()))

    def other(case: Case):
        before = chosen[: chosen.index(case)]
        for c in reversed(before):
            if c.shape_variant == case.shape_variant and not _same_inputs(cases, c, case):
                return _rounded(cases, c, o)
        return None

    yield "zeros", lambda case: torch.zeros_like(_rounded(cases, case, o))
    yield "a constant", constant
    for i, (path, tensor) in enumerate(flatten(cases.inputs(chosen[0]))[1]):
        if tensor.numel() == cases.expectation(chosen[0]).outputs[o].reference.numel():
            yield f"input '{path}'", lambda case, i=i: _input(cases, case, i, o)
    yield "the answer to other inputs", other


def _input(cases: Cases, case: Case, i: int, o: int):
    e = cases.expectation(case).outputs[o]
    tensor = flatten(cases.inputs(case))[1][i][1]
    if tensor.numel() != e.reference.numel():
        return None
    return tensor.reshape(e.reference.shape).to(e.model.dtype)


def _rounded(cases: Cases, case: Case, o: int):
    e = cases.expectation(case).outputs[o]
    return e.reference.to(e.model.dtype)


def _same_inputs(cases: Cases, a: Case, b: Case) -> bool:
    """Special cases reuse inputs; their answers are the same by right."""
    if a.weights != b.weights:
        return False
    pairs = zip(flatten(cases.inputs(a))[1], flatten(cases.inputs(b))[1])
    return all(x.shape == y.shape and torch.equal(x, y) for (_, x), (_, y) in pairs)


def _try(cases: Cases, chosen, o, name, answer, lowest) -> dict:
    tried = False
    for case in chosen:
        got = answer(case)
        e = cases.expectation(case).outputs[o]
        if got is None or got.shape != e.reference.shape:
            continue
        tried = True
        if not accepted(compare(e.reference, got, e.model, lowest)):
            return {"impostor": name, "rejected": True, "rejected_by": case.recipe.probe}
    return {"impostor": name, "rejected": not tried, "rejected_by": "" if tried else "its shape"}
