"""Is an output right? Each protocol's own idea of it: a reason, or None where it is."""

import torch

from .rules import Rules


def difference(expected, got) -> float:
    """Largest absolute difference of the tensors that can be subtracted; 0 where there are none."""
    if isinstance(expected, torch.Tensor) and isinstance(got, torch.Tensor):
        if expected.shape != got.shape or expected.numel() == 0:
            return 0.0
        if expected.is_complex() or got.is_complex():
            return float((expected - got).abs().max())
        return float((expected.double() - got.double()).abs().max())
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        return max((difference(a, b) for a, b in zip(expected, got)), default=0.0)
    if isinstance(expected, dict) and isinstance(got, dict):
        return max((difference(expected[k], got[k]) for k in expected if k in got), default=0.0)
    return 0.0


def complaint(rules: Rules, precision: torch.dtype, expected, got) -> str | None:
    if not rules.any_structure:
        return _one_tensor(rules, precision, expected, got)
    if rules.checks_dtype:
        return _strictly_nested(rules, expected, got)
    return _loosely_nested(rules, expected, got)


def _one_tensor(rules: Rules, precision: torch.dtype, expected, got) -> str | None:
    """KernelBench: shapes, then allclose; what has no shape raises, and the caller records it."""
    if expected.shape != got.shape:
        return f"output shape mismatch: expected {tuple(expected.shape)}, got {tuple(got.shape)}"
    tolerance = rules.tolerance(precision)
    if torch.allclose(*_ordered(rules, expected, got), atol=tolerance.atol, rtol=tolerance.rtol):
        return None
    return f"output mismatch: largest difference {difference(expected, got):.6g}"


def _ordered(rules: Rules, expected, got):
    """allclose(input, other) measures the relative part against `other`."""
    return (expected, got) if rules.relative_to == "candidate" else (got, expected)


def _strictly_nested(rules: Rules, expected, got) -> str | None:
    """CUDA-Agent: types, lengths and keys must agree, tensors be close in value and dtype."""
    if type(got) is not type(expected):
        return f"{type(got).__name__} in place of {type(expected).__name__}"
    if isinstance(expected, (list, tuple)):
        if len(expected) != len(got):
            return f"{len(got)} outputs in place of {len(expected)}"
        return _first(_strictly_nested(rules, a, b) for a, b in zip(expected, got))
    if isinstance(expected, dict):
        missing = [key for key in expected if key not in got]
        if missing:
            return f"output {missing[0]!r} is missing"
        return _first(_strictly_nested(rules, expected[key], got[key]) for key in expected)
    if isinstance(expected, (str, float, int)):
        return None if expected == got else f"{got!r} in place of {expected!r}"
    if not isinstance(expected, torch.Tensor):
        return f"outputs of type {type(expected).__name__} are not supported"
    tolerance = rules.tolerance(expected.dtype)
    try:
        torch.testing.assert_close(got, expected, atol=tolerance.atol, rtol=tolerance.rtol)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return None


def _loosely_nested(rules: Rules, expected, got) -> str | None:
    """naive: whatever broadcasts is compared, in whatever type."""
    if isinstance(expected, dict) and isinstance(got, dict):
        expected, got = list(expected.values()), list(got.values())
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        return _first(_loosely_nested(rules, a, b) for a, b in zip(expected, got))
    if not isinstance(expected, torch.Tensor):
        return None if expected == got else f"{got!r} in place of {expected!r}"
    tolerance = rules.tolerance(expected.dtype)
    apart = (expected.double() - got.double()).abs()
    if bool((apart <= tolerance.atol + tolerance.rtol * expected.double().abs()).all()):
        return None
    return f"largest difference {float(apart.max()):.6g}"


def _first(complaints) -> str | None:
    return next((text for text in complaints if text is not None), None)
