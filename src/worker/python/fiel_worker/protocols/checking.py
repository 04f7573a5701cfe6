"""The trials of a protocol: which inputs, in which order, compared how."""

import torch

from ..channel import words_of
from . import comparing
from .functional_block import functional_blocked
from .nesting import tensors, transform
from .pair import Pair


def run_trials(pair: Pair, settle) -> list[dict]:
    rules, rows, shared = pair.rules, [], None
    for number, seed in enumerate(trial_seeds(rules)):
        if seed is not None:
            torch.manual_seed(seed)
        if shared is None or rules.seeding != "repeated":
            shared = pair.inputs()
        name = "unseeded" if seed is None else f"seed {seed}"
        if seed is not None:
            torch.manual_seed(seed)
        rows.append(row(name, *attempt(pair, shared, settle)))
        if rows[-1]["why"] and (rules.stops_at_first or ends(rows[-1]["why"])):
            return rows
    if all(r["passed"] for r in rows):
        rows += [hidden_trial(pair, scale, settle) for scale in rules.hidden_scales]
    return rows


def trial_seeds(rules) -> list:
    if rules.seeding == "unseeded":
        return [None] * rules.trials
    if rules.seeding == "repeated":
        return [rules.seed] * rules.trials
    torch.manual_seed(rules.seed)
    return [torch.randint(0, 2**32 - 1, (1,)).item() for _ in range(rules.trials)]


def ends(why: str) -> bool:
    """KernelBench counts a trial of wrong values and goes on; these it does not come back from."""
    return why.startswith(("runtime error", "output shape mismatch"))


def row(inputs: str, why: str | None, apart: float, dropped: bool = False) -> dict:
    return {"inputs": inputs, "passed": why is None or dropped, "dropped": dropped,
            "max_difference": apart, "why": why or ""}


def attempt(pair: Pair, inputs, settle) -> tuple[str | None, float]:
    """(complaint, largest difference) of one trial."""
    rules = pair.rules
    theirs = transform(inputs, torch.clone) if rules.clones_inputs else inputs
    with torch.no_grad():
        try:
            if rules.reference_first:
                expected = pair.reference(*inputs)
                settle()
                got = candidate_answer(pair, theirs)
                settle()
            else:
                got = candidate_answer(pair, theirs)
                expected = pair.reference(*inputs)
            why = comparing.complaint(rules, pair.precision, expected, got)
            return why, comparing.difference(expected, got)
        except Exception as error:  # what the originals catch: not SystemExit
            return f"runtime error: {words_of(error)}"[:300], 0.0


def candidate_answer(pair: Pair, inputs):
    with functional_blocked(pair.rules.blocks_functional):
        return pair.candidate(*inputs)


def hidden_trial(pair: Pair, scale: float, settle) -> dict:
    """Floating inputs times a factor. One on which the reference is not finite was filtered out when
    the hidden inputs were made; one on which it fails is not held against the candidate."""
    inputs = scaled(pair.get_inputs(), scale)
    inputs = pair.prepared(inputs if isinstance(inputs, (list, tuple)) else [inputs])
    name = f"times {scale:g}"
    with torch.no_grad():
        try:
            expected = pair.reference(*inputs)
        except Exception as error:
            return row(name, f"the reference fails on it: {words_of(error)}"[:300], 0.0, dropped=True)
    if not all(bool(torch.isfinite(t).all()) for t in tensors(expected) if t.is_floating_point()):
        return row(name, "the reference is not finite on it", 0.0, dropped=True)
    return row(name, *attempt(pair, inputs, settle))


def scaled(inputs, factor: float):
    if not isinstance(inputs, (list, tuple)):
        return inputs
    return [x * factor if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]
