"""Python files of tasks and candidates, as modules."""

import importlib.util
import os
import random
import sys

import torch

from ..channel import Fault

MAX_SOURCE_BYTES = 8 << 20


def import_file(path: str, name: str, blame: str):
    """Runs a file as module `name`. It stays in sys.modules: Triton, dataclasses and inspect look."""
    if not os.path.isfile(path) or os.path.getsize(path) > MAX_SOURCE_BYTES:
        raise Fault(blame, f"no Python file of at most {MAX_SOURCE_BYTES >> 20} MiB at {path}")
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None:
        raise Fault(blame, f"{os.path.basename(path)} is no Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def seed_everything(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def init_inputs(task, seed: int):
    """What the task's get_init_inputs gives, for a constructor; nothing where it has none."""
    seed_everything(seed)
    function = getattr(task, "get_init_inputs", None)
    return [] if function is None else function()


def on_device(value, device: str):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: on_device(item, device) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(on_device(item, device) for item in value)
    return value
