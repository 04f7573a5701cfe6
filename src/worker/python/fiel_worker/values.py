"""Nested values (docs/torch-workers.md#values): flattening, describing, placing, rebuilding."""

import torch

from .channel import Fault
from .window import ALIGNMENT, GUARD_BYTES, Window

MAX_LEAVES, MAX_DEPTH, MAX_RANK = 4096, 16, 16
DTYPES = {
    str(d).removeprefix("torch."): d
    for d in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn,
        torch.float8_e5m2, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
        torch.bool, torch.complex64, torch.complex128,
    )
}


class Strange(str):
    """What stands in a rebuilt value for something that is no dense tensor of the device: its
    description, for a comparison of structures to show."""


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def flatten(value, blame: str = "task"):
    """(tree, [(path, tensor)]): the tensors of a nested value in order of appearance."""
    leaves: list[tuple[str, torch.Tensor]] = []
    return _flatten(value, "", 0, leaves, blame), leaves


def _flatten(value, path, depth, leaves, blame):
    if depth > MAX_DEPTH or len(leaves) > MAX_LEAVES:
        raise Fault(blame, f"a value nests deeper than {MAX_DEPTH} or has over {MAX_LEAVES} tensors")
    if isinstance(value, torch.Tensor):
        leaves.append((path, value))
        return {"leaf": len(leaves) - 1}
    if isinstance(value, dict):
        items = [
            [str(key), _flatten(item, _join(path, key), depth + 1, leaves, blame)]
            for key, item in value.items()
        ]
        return {"dict": items}
    if isinstance(value, (list, tuple)):
        items = [
            _flatten(item, _join(path, i), depth + 1, leaves, blame) for i, item in enumerate(value)
        ]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    raise Fault(blame, f"a value of type {type(value).__name__} at '{path}' cannot travel")


def _join(path: str, key) -> str:
    return f"{path}.{key}" if path else str(key)


def rebuild(tree: dict, tensors: list, depth: int = 0):
    """The nested value of a tree and its tensors. Refuses what is not a tree."""
    if depth > MAX_DEPTH or not isinstance(tree, dict) or len(tree) != 1:
        raise Fault("worker", "a malformed value")
    ((kind, content),) = tree.items()
    if kind == "leaf" and isinstance(content, int) and 0 <= content < len(tensors):
        return tensors[content]
    if kind == "value":
        return content
    if kind == "strange":
        return Strange(str(content)[:300])
    if kind in ("list", "tuple") and isinstance(content, list):
        items = [rebuild(item, tensors, depth + 1) for item in content]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict" and isinstance(content, list):
        if all(isinstance(pair, list) and len(pair) == 2 for pair in content):
            return {str(key): rebuild(item, tensors, depth + 1) for key, item in content}
    raise Fault("worker", "a malformed value")


def describe(path: str, tensor: torch.Tensor) -> dict:
    return {
        "path": path,
        "dtype": name_of(tensor.dtype),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
    }


def extent_bytes(shape, stride, dtype: torch.dtype) -> int:
    """Bytes from a tensor's first element to behind its last."""
    if 0 in shape:
        return 0
    return (1 + sum((n - 1) * s for n, s in zip(shape, stride))) * dtype.itemsize


def packed(shape) -> list[int]:
    """Strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def align(offset: int) -> int:
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def layout(leaves: list[dict], begin: int = 0, guard: int = GUARD_BYTES) -> int:
    """Gives each described leaf its offset, with guard bands between; returns the end."""
    at = begin
    for leaf in leaves:
        at = align(at + guard)
        leaf["offset"] = at
        at += extent_bytes(leaf["shape"], leaf["stride"], DTYPES[leaf["dtype"]])
    return at + guard


def dtype_of(leaf: dict):
    """A leaf's type; None for what is no name of one."""
    name = leaf.get("dtype")
    return DTYPES.get(name) if isinstance(name, str) else None


def view(window: Window, leaf: dict) -> torch.Tensor:
    """The tensor that a leaf names in a window; every number in it is checked."""
    if not isinstance(leaf, dict):
        raise Fault("worker", "a malformed leaf")
    dtype = dtype_of(leaf)
    shape, stride, offset = leaf.get("shape"), leaf.get("stride"), leaf.get("offset")
    lists = isinstance(shape, list) and isinstance(stride, list)
    if dtype is None or not lists or len(shape) > MAX_RANK:
        raise Fault("worker", "a malformed leaf")
    if not all(type(n) is int for n in [*shape, *stride, offset]):
        raise Fault("worker", "a malformed leaf")
    return window.tensor(offset, dtype, shape, stride)


def tensors_of(window: Window, value: dict):
    """The nested value whose leaves lie in a window."""
    leaves = value.get("leaves") if isinstance(value, dict) else None
    if not isinstance(leaves, list) or len(leaves) > MAX_LEAVES:
        raise Fault("worker", "a malformed value")
    return rebuild(value.get("tree"), [view(window, leaf) for leaf in leaves])
