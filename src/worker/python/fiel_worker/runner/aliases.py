"""Outputs that share memory with an input."""

import torch

from .. import values


def with_inputs(leaves: list[dict], tensors: list[torch.Tensor], inputs) -> list[str]:
    spans = [span(tensor) for tensor in leaves_of(inputs) if tensor.numel()]
    return [
        leaf["path"] for leaf, tensor in zip(leaves, tensors)
        if tensor.numel() and any(overlap(span(tensor), other) for other in spans)
    ]


def leaves_of(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in leaves_of(item)]
    return []


def span(tensor: torch.Tensor) -> tuple[int, int]:
    begin = tensor.data_ptr()
    return begin, begin + values.extent_bytes(tensor.shape, tensor.stride(), tensor.dtype)


def overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]
