"""One answer against what was expected: structure, values, inputs, guards, poison, state, staleness."""

import contextlib
import math

import torch

from ..channel import Fault
from ..values import dtype_of, view
from .bound import accepted, compare, unwritten_in
from .cases import Case, Cases
from .expectation import Expected
from .placement import broken_guards, modified
from .slices import row_major_pieces

_STALE_SAMPLE = 4096
_QUOTED = 200  # characters of what a runner said


def verify(cases: Cases, case: Case, outputs: dict, lowest: str = "fp32", state=None) -> dict:
    """The reply of `verify`. `outputs` is a value as a runner reported it: nothing in it is believed
    but where the bytes are."""
    placement = case.placement
    if placement is None or placement.outputs_window is None:
        raise Fault("worker", "the case has not been placed")
    reply = {"structure": None, "outputs": [], "notes": [], "state": [], "stale": None,
             "unwritten": []}
    expectation = cases.expectation(case)
    structure, tensors = _seen(expectation, outputs, placement.outputs_window)
    reply["structure"] = structure
    if structure is None:
        reply["outputs"] = compare_values(expectation, outputs, tensors, lowest)[1]
        for e, actual in zip(expectation.outputs, tensors):
            left = unwritten_in(e.reference, actual, e.model, lowest, placement.poison)
            if left:
                reply["unwritten"].append({"path": e.path, "elements": left})
        reply["notes"] = _stride_notes(cases, case, outputs["leaves"])
    own = cases.task.writes_inputs  # then nobody can be blamed for doing as the reference does
    reply["inputs_modified"] = [] if own else modified(placement, cases.inputs(case))
    # By our names: a runner's may be missing, or nothing that can be put in order.
    named = [leaf | {"path": e.path} for e, leaf in zip(expectation.outputs, outputs["leaves"])] \
        if structure is None else None
    reply["guards"] = broken_guards(placement, named)
    if state is not None:
        reply["state"] = _state(expectation.state, state, placement.outputs_window, lowest)
    if structure is None and not all(accepted(o) for o in reply["outputs"]):
        reply["stale"] = _stale(cases, case, tensors)
    return reply


def _seen(expectation, outputs, window):
    """(what differs in structure or None, the tensors). A runner that names no place, or one outside of
    the window, is wrong and no fault of the machine."""
    structure = _structure(expectation, outputs)
    if structure:
        return structure, []
    try:
        return None, [view(window, leaf) for leaf in outputs["leaves"]]
    except Fault as fault:
        return f"outputs that are nowhere: {fault.message}", []


def compare_values(expectation, outputs: dict, tensors: list, lowest: str):
    """(what differs in structure or None, a row an output)."""
    structure = _structure(expectation, outputs)
    if structure:
        return structure, []
    return None, [{"path": e.path} | compare(e.reference, actual, e.model, lowest)
                  for e, actual in zip(expectation.outputs, tensors)]


def _structure(expectation, outputs):
    """What differs in nesting, shape or type, or None."""
    if not isinstance(outputs, dict) or not isinstance(outputs.get("leaves"), list):
        return "the answer is no value"
    difference = _tree_difference(expectation.tree, outputs.get("tree"), "")
    if difference:
        return difference
    if len(outputs["leaves"]) != len(expectation.outputs):
        return f"{len(outputs['leaves'])} tensors where {len(expectation.outputs)} are expected"
    for e, leaf in zip(expectation.outputs, outputs["leaves"]):
        where = f" at '{e.path}'" if e.path else ""
        if not isinstance(leaf, dict) or dtype_of(leaf) is None:
            return f"a malformed tensor{where}"
        if leaf.get("shape") != list(e.reference.shape):
            return f"shape {quoted(leaf.get('shape'))} where {list(e.reference.shape)} is expected{where}"
        if dtype_of(leaf) != e.model.dtype:
            return f"type {leaf['dtype']} where {str(e.model.dtype)[6:]} is expected{where}"
    return None


def _tree_difference(expected, actual, path: str):
    """None where two trees nest alike; leaves match in order, numbers nearly, the rest exactly."""
    where = f" at '{path}'" if path else ""
    if not isinstance(actual, dict) or len(actual) != 1:
        return f"a malformed value{where}"
    (kind, content), (other, found) = *expected.items(), *actual.items()
    if other == "strange":
        return f"{str(found)[:_QUOTED]} where a {kind if kind != 'leaf' else 'tensor'} is expected{where}"
    if kind != other:
        names = {"leaf": "tensor", "value": "number or text"}
        return f"a {names.get(other, other[:_QUOTED])} where a {names.get(kind, kind)} is expected{where}"
    if kind == "leaf":
        return None if found == content else f"a malformed value{where}"
    if kind == "value":
        if _alike(content, found):
            return None
        return f"{quoted(found)} where {content!r} is expected{where}"
    if not isinstance(found, list):
        return f"a malformed value{where}"
    if len(content) != len(found):
        return f"a {kind} of {len(found)} where {len(content)} are expected{where}"
    for i, (a, b) in enumerate(zip(content, found)):
        key = str(i)
        if kind == "dict":
            if not isinstance(b, list) or len(b) != 2 or a[0] != b[0]:
                key = b[0] if isinstance(b, list) and b else b
                return f"key {quoted(key)} where {a[0]!r} is expected{where}"
            key, a, b = a[0], a[1], b[1]
        difference = _tree_difference(a, b, f"{path}.{key}" if path else key)
        if difference:
            return difference
    return None


def quoted(value) -> str:
    """What a runner said, short enough to be told."""
    text = repr(value)
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def _alike(a, b) -> bool:
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (a, b))
    if numbers and (isinstance(a, float) or isinstance(b, float)):
        with contextlib.suppress(OverflowError):  # of an integer that no float is
            return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-30)
        return False
    if isinstance(a, float) and isinstance(b, str):  # nan and infinities travel as text
        return str(a) == b
    return type(a) is type(b) and a == b


def _stride_notes(cases: Cases, case: Case, leaves) -> list[str]:
    notes = []
    for own, leaf in zip(cases.task.outputs, leaves):
        if case.shape_variant is None and own["stride"] != leaf["stride"] and math.prod(own["shape"]) > 1:
            notes.append(f"'{own['path']}' has strides {leaf['stride']}, PyTorch's {own['stride']}")
    return notes


def _state(expected: list[Expected], state, window, lowest: str) -> list[dict]:
    """Buffers after the call, by name; one that is not reported counts as unchanged and fails."""
    leaves = state.get("leaves") if isinstance(state, dict) else None
    given = {leaf["path"]: leaf for leaf in leaves if isinstance(leaf, dict)
             and isinstance(leaf.get("path"), str)} if isinstance(leaves, list) else {}
    rows = []
    for e in expected:
        leaf = given.get(e.path)
        known = leaf is not None and leaf.get("shape") == list(e.reference.shape)
        try:
            actual = view(window, leaf) if known else None
        except Fault:
            actual = None
        if actual is None:
            rows.append(_missing(e))
            continue
        if actual.dtype != e.model.dtype:
            actual = actual.to(e.model.dtype)
        rows.append({"path": e.path} | compare(e.reference, actual, e.model, lowest))
    return rows


def _missing(e: Expected) -> dict:
    n = e.reference.numel()
    zeros = dict.fromkeys(("max_abs", "rms_error", "rms_output", "relative_rms", "rms_limit",
                           "componentwise", "exact_fraction", "bound"), 0.0)
    return zeros | {"path": e.path, "elements": n, "compared": 0, "failing": n, "first_failing": 0,
                    "first_index": None, "expected": None, "got": None, "worst_ratio": math.inf,
                    "rms_failed": False, "nan_mismatches": 0, "infinity_mismatches": 0,
                    "unstable": 0, "missing": True, "class": "below"}


def _stale(cases: Cases, case: Case, tensors):
    """The earlier case whose answer this is, if any, by a sample of the elements."""
    for other in reversed(list(cases.all.values())):
        if other is case or other.kept is None or len(other.kept.outputs) != len(tensors):
            continue
        if all(_looks_like(t, e) for t, e in zip(tensors, other.kept.outputs)):
            return other.number
    return None


def _looks_like(actual, e: Expected) -> bool:
    if actual.shape != e.reference.shape or not actual.numel():
        return False
    index, _ = next(row_major_pieces(actual.shape, _STALE_SAMPLE))
    a, y = actual[index].to(torch.float64), e.reference[index].to(torch.float64)
    scale = float(y.square().mean().sqrt())
    return bool((((a - y).abs() <= 1e-3 * (scale + y.abs())) | (torch.isnan(a) & torch.isnan(y))).all())
