"""Is the reference a function of its inputs? Dropout is not."""

import math

import torch

from .slices import pieces_of, row_major_pieces, row_rms

RUNS = 24
_SAMPLED = 1 << 22  # elements that the figures are made of
# Two-sided quantiles of Student's t with 23 degrees of freedom at 1e-7: four figures of a handful of
# outputs stay below one false alarm in a million.
T_LIMIT = 7.6


def examine(task) -> tuple[str, str | None]:
    """(none | statistical | void, the reason why the task is void)."""
    own = task.source.draw(1)
    _, first = task.run(own, 1)
    _, again = task.run(own, 1)
    _, other = task.run(own, 2)
    if not _equal(first, again) and not _close(first, again):
        return "void", "two calls with the same inputs and random state differ"
    randomness = "none" if _close(first, other) else "statistical"
    return randomness, None


def _equal(a, b) -> bool:
    return all(x.shape == y.shape and torch.equal(x, y) for (_, x), (_, y) in zip(a, b))


def _close(a, b) -> bool:
    """Equal but for the order of atomic additions."""
    for (_, x), (_, y) in zip(a, b):
        if x.shape != y.shape:
            return False
        if not x.is_floating_point():
            if not torch.equal(x, y):
                return False
            continue
        scale = row_rms(x)[1]
        for index, _ in row_major_pieces(x.shape, pieces_of(x)):
            a, b = x[index].to(torch.float64), y[index].to(torch.float64)
            near = ((a - b).abs() <= 1e-4 * scale) | (a == b) | (torch.isnan(a) & torch.isnan(b))
            if not bool(near.all()):
                return False
    return True


class Samples:
    """What calls of a random reference look like: four figures of each output, over RUNS calls, and
    each element's mean and spread."""

    def __init__(self, task, inputs, weights):
        task.use_weights(weights)
        runs = [[_some(t) for _, t in task.run(inputs, 1000 + k)[1]] for k in range(RUNS)]
        columns = list(zip(*runs))
        self.mean = [torch.stack(c).mean(0) for c in columns]
        self.spread = [torch.stack(c).std(0) for c in columns]
        self.tables = [
            torch.tensor([self._figures(x, i) for x in c], dtype=torch.float64)
            for i, c in enumerate(columns)
        ]

    def _figures(self, x, i) -> list[float]:
        """Mean, rms, share of exact zeros, distance from the mean in standard deviations."""
        z = (x - self.mean[i]) / self.spread[i].clamp_min(1e-30)
        z = torch.where(self.spread[i] > 0, z, torch.zeros_like(z))
        return [float(x.mean()), float(x.square().mean().sqrt()), float((x == 0).to(torch.float64).mean()),
                float(z.square().mean().sqrt())]

    def deviations(self, actual: torch.Tensor, i: int) -> dict[str, float]:
        """Each figure's distance from the reference's, in the units of T_LIMIT."""
        found = {}
        actual = _some(actual)
        if not bool(torch.isfinite(actual).all()):
            return {"finite": math.inf}
        for name, value, column in zip(("mean", "rms", "zeros", "spread"), self._figures(actual, i),
                                       self.tables[i].T):
            # A call that was part of the mean lies nearer to it than a new one: by 1 - 1/n.
            centre = float(column.mean()) * (RUNS + 1) / (RUNS - 1) if name == "spread" else float(column.mean())
            width = float(column.std()) * math.sqrt(1 + 1 / RUNS) + 1e-6 * abs(centre) + 1e-300
            if name == "spread":
                width += 0.05 * abs(centre)
            found[name] = abs(value - centre) / width
        return found


def _some(tensor: torch.Tensor) -> torch.Tensor:
    """The beginning, middle and end of a large output, all of a small one."""
    pieces = list(row_major_pieces(tensor.shape, _SAMPLED // 4))
    chosen = pieces if len(pieces) <= 4 else [pieces[k * (len(pieces) - 1) // 3] for k in range(4)]
    return torch.cat([tensor[index].reshape(-1).to(torch.float64) for index, _ in chosen])


def compare_random(samples: Samples, actual: torch.Tensor, i: int) -> dict:
    """The row of `verify` for an output that is random: the figures decide, elements do not."""
    deviations = samples.deviations(actual, i)
    wrong = {k: v for k, v in deviations.items() if v > T_LIMIT}
    mean, n = samples.mean[i], actual.numel()
    error = (_some(actual) - mean).square().mean().sqrt()
    rms = float(mean.square().mean().sqrt())
    name = max(deviations, key=deviations.get)
    return {
        "elements": n, "compared": n, "failing": n if wrong else 0, "first_failing": 0 if wrong else -1,
        "first_index": None, "expected": None, "got": None, "bound": None,
        "worst_ratio": deviations[name] / T_LIMIT, "max_abs": 0.0, "rms_error": float(error),
        "rms_output": rms, "relative_rms": float(error) / rms if rms else 0.0, "rms_limit": math.inf,
        "rms_failed": False, "componentwise": 0.0, "nan_mismatches": 0, "infinity_mismatches": 0,
        "unstable": n, "exact_fraction": 0.0, "class": "fp32" if not wrong else "below",
        "statistics": deviations, "limit": T_LIMIT,
    }
