"""Tensors in lists, tuples and dicts."""

import torch


def transform(value, change):
    """Every tensor replaced by change(tensor); lists and tuples become lists, as in CUDA-Agent."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [transform(item, change) for item in value]
    if isinstance(value, dict):
        return {key: transform(item, change) for key, item in value.items()}
    return value


def tensors(value) -> list:
    found = []
    transform(value, found.append)
    return found
