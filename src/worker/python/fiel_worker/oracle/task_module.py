"""The task: a file in KernelBench's format, or the module that Fiel generates for a native task.

    task = TaskModule.load(path="task.py", source=None, device="cuda:0", mode="train", init_seed=7)
    model = task.build()                 # the reference in its own types, on the device
    inputs = task.draw(seed)             # what get_inputs returns, on the device
"""

import contextlib
import hashlib
import importlib.util
import linecache
import random
import sys
import types

import torch

from ..channel import Fault
from ..values import flatten, rebuild

MAX_SOURCE_BYTES = 4 << 20
_serial = 0


def seed_everything(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed & 0x7FFFFFFFFFFFFFFF)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


@contextlib.contextmanager
def uninitialised_memory(value: float):
    """torch.empty under this gives a value that nobody draws: what still holds it was never set."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Fill(TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # importing the compiler takes seconds

        def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            if func._schema.name in _EMPTY and isinstance(made, torch.Tensor):
                if made.is_floating_point():
                    made.fill_(value)
                elif made.dtype != torch.bool and not made.is_complex():
                    made.fill_(int(abs(value)) % 127)
            return made

    with Fill():
        yield


_EMPTY = {"aten::empty", "aten::empty_like", "aten::new_empty", "aten::empty_strided",
          "aten::new_empty_strided"}
MARKS = (-12347.0, -9871.0)  # two values for memory that was never set


class TaskModule:
    def __init__(self, module: types.ModuleType, digest: str, device: str, mode: str, init_seed: int):
        self.module, self.digest = module, digest
        self.device, self.mode, self.init_seed = device, mode, init_seed
        self.warnings: list[str] = []
        self._under_device = device != "cpu"

    @staticmethod
    def load(path, source, device: str, mode: str, init_seed: int) -> "TaskModule":
        text = source if source is not None else _read(path)
        name = path if path is not None else "<native task>"
        if mode not in ("train", "eval"):
            raise Fault("worker", f"unknown mode {mode!r}")
        module = _execute(text, name)
        for needed in ("Model", "get_inputs"):
            if not callable(getattr(module, needed, None)):
                raise Fault("task", f"the task defines no {needed}")
        digest = hashlib.sha256(text.encode()).hexdigest()
        return TaskModule(module, digest, device, mode, init_seed)

    def build(self) -> torch.nn.Module:
        """The reference, its weights drawn from init_seed on the CPU: the same on every device."""
        model = self._constructed(MARKS[0])
        unset = [name for name, tensor in _named_tensors(model) if _holds_mark(tensor)]
        if unset:
            warn = f"the constructor leaves {', '.join(unset[:4])} uninitialised: replaced from a seed"
            self.warnings.append(warn)
            _replace_unset(model, unset, self.init_seed)
        model.train(self.mode == "train")
        model.requires_grad_(False)
        return model.to(self.device)

    def _constructed(self, mark: float) -> torch.nn.Module:
        get_init_inputs = getattr(self.module, "get_init_inputs", lambda: [])
        seed_everything(self.init_seed)
        arguments = get_init_inputs()
        seed_everything(self.init_seed)
        with torch.no_grad(), uninitialised_memory(mark):
            if isinstance(arguments, dict):
                model = self.module.Model(**arguments)
            else:
                model = self.module.Model(*arguments)
        if not isinstance(model, torch.nn.Module):
            raise Fault("task", "Model is not a torch.nn.Module")
        return model

    def draw(self, seed: int):
        """One set of inputs. Made on the device where get_inputs allows it: drawing gigabytes on
        the CPU takes ten seconds."""
        value = self._draw_marked(seed, MARKS[0])
        tree, leaves = flatten(value)
        tensors = [_own(t, self.device) for _, t in leaves]
        for i, (path, _) in enumerate(leaves):
            if _holds_mark(tensors[i]):
                tensors[i] = _replacement(tensors[i], seed + i)
                warn = f"get_inputs leaves input '{path}' uninitialised: replaced from a seed"
                if warn not in self.warnings:
                    self.warnings.append(warn)
        value = rebuild(tree, tensors)
        return value if isinstance(value, (list, tuple, dict)) else [value]

    def _draw_marked(self, seed: int, mark: float):
        if self._under_device:
            try:
                seed_everything(seed)
                with torch.no_grad(), torch.device(self.device), uninitialised_memory(mark):
                    return self.module.get_inputs()
            except Exception:  # generators and numpy arrays of the CPU
                self._under_device = False
        seed_everything(seed)
        with torch.no_grad(), uninitialised_memory(mark):
            return self.module.get_inputs()


def call(model: torch.nn.Module, inputs):
    """KernelBench passes a list as positional arguments; a dict is passed by name."""
    with torch.no_grad():
        return model(**inputs) if isinstance(inputs, dict) else model(*inputs)


def _read(path) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
    except (OSError, TypeError) as error:
        raise Fault("task", f"the task cannot be read: {error}") from None
    if len(data) > MAX_SOURCE_BYTES:
        raise Fault("task", f"the task is larger than {MAX_SOURCE_BYTES} bytes")
    return data.decode("utf-8", "replace")


def _execute(text: str, name: str) -> types.ModuleType:
    global _serial
    _serial += 1
    module = types.ModuleType(f"fiel_task_{_serial}")
    module.__file__ = name
    sys.modules[module.__name__] = module  # dataclasses and pickle look classes up by module
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    seed_everything(0)
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def _named_tensors(model: torch.nn.Module):
    yield from model.named_parameters()
    yield from model.named_buffers()


def _holds_mark(tensor: torch.Tensor) -> bool:
    if tensor.numel() == 0 or not tensor.is_floating_point():
        return False
    flat = tensor.detach().reshape(-1)
    some = flat[:: max(1, flat.numel() // 4096)][:4096]
    return bool((some == torch.tensor(MARKS[0], dtype=tensor.dtype, device=tensor.device)).any())


def _replacement(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    drawn = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(seed & 0x7FFFFFFF))
    return drawn.to(tensor.dtype).to(tensor.device)


def _replace_unset(model: torch.nn.Module, names: list[str], seed: int) -> None:
    for i, (name, tensor) in enumerate(_named_tensors(model)):
        if name in names:
            scale = max(1, tensor[0].numel() if tensor.dim() > 1 else 1) ** -0.5
            with torch.no_grad():
                tensor.copy_(_replacement(tensor, seed + i) * scale)


def _own(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """Detached, on the device, sharing memory with nothing (expanded tensors are laid out)."""
    moved = tensor.detach().to(device)
    overlapping = any(s == 0 and n > 1 for n, s in zip(moved.shape, moved.stride()))
    return moved.contiguous() if overlapping or moved.is_conj() or moved.is_neg() else moved
