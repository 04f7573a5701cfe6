"""Building a module from its class and the task's init inputs."""

import inspect

import torch

from ..channel import Fault
from .sources import on_device, seed_everything


def construct(cls, inputs, seed: int, device: str, mode: str):
    """An instance on the device, drawn from `seed`, in train or eval mode."""
    arguments, keywords = call_form(cls, on_device(inputs, device))
    seed_everything(seed)
    made = cls(*arguments, **keywords)
    if isinstance(made, torch.nn.Module):
        made = made.to(device)
        made.train(mode == "train")
    elif not callable(made):
        raise Fault("candidate", f"{cls.__name__} is neither an nn.Module nor callable")
    return made


def call_form(cls, inputs) -> tuple[list, dict]:
    """(positional, keyword) arguments. Some tasks write [[positional], {keyword}], some a dict."""
    if isinstance(inputs, dict):
        return [], inputs
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    pair = len(inputs) == 2 and isinstance(inputs[0], list) and isinstance(inputs[1], dict)
    if pair and not _accepts(cls, inputs) and _accepts(cls, inputs[0], inputs[1]):
        return inputs[0], inputs[1]
    return inputs, {}


def _accepts(cls, arguments, keywords=None) -> bool:
    try:
        inspect.signature(cls).bind(*arguments, **(keywords or {}))
        return True
    except (TypeError, ValueError):
        return False
