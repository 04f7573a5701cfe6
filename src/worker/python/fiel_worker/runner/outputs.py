"""What a forward returned, described as it is and copied into a region."""

import torch

from .. import values
from ..channel import Fault


def describe(value, device: str):
    """(tree, leaves, tensors). What is no dense tensor of this device stands in the tree as
    {"strange": what it is}: a finding of the comparison, never a crash here."""
    collected: list[tuple[dict, torch.Tensor]] = []
    tree = _walk(value, "", 0, collected, device)
    return tree, [leaf for leaf, _ in collected], [tensor for _, tensor in collected]


def _walk(value, path: str, depth: int, collected: list, device: str) -> dict:
    if depth > values.MAX_DEPTH or len(collected) >= values.MAX_LEAVES:
        raise Fault("candidate", "the outputs nest too deep or are too many")
    if isinstance(value, torch.Tensor):
        reason = strangeness(value, device)
        if reason:
            return {"strange": reason}
        collected.append((leaf_of(path, value), value.detach()))
        return {"leaf": len(collected) - 1}
    inner = lambda key, item: _walk(item, _join(path, key), depth + 1, collected, device)  # noqa: E731
    if isinstance(value, dict):
        return {"dict": [[str(key)[:256], inner(key, item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [inner(i, item) for i, item in enumerate(value)]}
    if value is None or type(value) in (bool, int, float):
        return {"value": value} if type(value) is not int or abs(value) < 2**63 else _huge(value)
    if type(value) is str:
        return {"value": value[:4096]}
    return {"strange": f"a {type(value).__name__}"[:200]}


def _huge(value: int) -> dict:
    return {"strange": f"an integer of {value.bit_length()} bits"}


def _join(path: str, key) -> str:
    return f"{path}.{key}"[:1024] if path else str(key)[:256]


def strangeness(tensor: torch.Tensor, device: str) -> str | None:
    """Why a tensor cannot be compared as one; None for a plain dense tensor of the device."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return f"a tensor of the class {type(tensor).__name__}"[:200]
    what = f"{values.name_of(tensor.dtype)}{list(tensor.shape)}"[:200]
    if tensor.is_nested or tensor.layout != torch.strided:
        return f"a {'nested' if tensor.is_nested else values.name_of(tensor.layout)} tensor {what}"
    if tensor.is_quantized or values.name_of(tensor.dtype) not in values.DTYPES:
        return f"a tensor {what}"
    if tensor.device != torch.device(device):
        return f"a tensor {what} on {tensor.device}"
    if tensor.dim() > values.MAX_RANK:
        return f"a tensor of rank {tensor.dim()}"
    return None


def leaf_of(path: str, tensor: torch.Tensor) -> dict:
    """Its own strides, where they cover memory without gap and overlap; else packed, and
    `stride_was` says what they were."""
    leaf = values.describe(path, tensor)
    if not is_dense(tensor.shape, tensor.stride()):
        leaf["stride_was"] = leaf["stride"]
        leaf["stride"] = values.packed(tensor.shape)
    return leaf


def is_dense(shape, stride) -> bool:
    if 0 in shape:
        return True
    expected = 1
    for step, size in sorted((s, n) for n, s in zip(shape, stride) if n != 1):
        if step != expected:
            return False
        expected *= size
    return True


def place(window, region: dict, leaves: list[dict], tensors: list[torch.Tensor]) -> None:
    """Copies into the region, guard bands between. What does not fit is the candidate's fault: the
    region was made for the outputs that the task has."""
    begin, size = region["offset"], region["bytes"]
    end = values.layout(leaves, begin)
    if end > begin + size or begin + size > window.bytes:
        raise Fault(
            "candidate", f"the outputs take {end - begin} bytes, what the task returns has {size}"
        )
    for leaf, tensor in zip(leaves, tensors):
        values.view(window, leaf).copy_(tensor)
