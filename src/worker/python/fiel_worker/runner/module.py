"""One loaded side of a judgement: what an operation needs of it."""

import dataclasses
import itertools

import torch

from .. import numerics

_numbers = itertools.count(1)


@dataclasses.dataclass
class Loaded:
    network: object  # an nn.Module, or something callable
    call: object  # the network, or what torch.compile made of it
    kind: str
    device: str
    flags: dict
    build: object = None  # extension.Build, for a candidate
    setup_bytes: int | None = None
    policy: str = "default"  # of numerics.py
    marks_steps: bool = False  # CUDA graph trees want to be told where a step begins
    pairs: list | None = None  # weights.match's answer, kept for the next weights
    id: int = dataclasses.field(default_factory=lambda: next(_numbers))

    def assert_policy(self) -> None:
        """The flags of a reference, which are its policy's before every run; a candidate's are its own."""
        if self.kind == "reference":
            numerics.assert_applied(self.policy)

    def forward(self, inputs):
        """The network on the task's inputs: a list of arguments, a dict of keywords, or one value."""
        inputs = cast(inputs, self.policy)
        if self.marks_steps:
            torch.compiler.cudagraph_mark_step_begin()
        with torch.no_grad():
            if isinstance(inputs, dict):
                return self.call(**inputs)
            if isinstance(inputs, (list, tuple)):
                return self.call(*inputs)
            return self.call(inputs)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Parameters, buffers, and tensors that modules merely hold as attributes, by name."""
        return dict(named_state(self.network)) | dict(named_attributes(self.network))


def cast(value, policy: str):
    """Inputs under a numerics policy; the same value where the policy casts nothing."""
    if policy not in numerics.LOW_DTYPES:
        return value
    if isinstance(value, torch.Tensor):
        return numerics.cast_tensor(value, policy)
    if isinstance(value, dict):
        return {key: cast(item, policy) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(cast(item, policy) for item in value)
    return value


def named_state(network):
    """state_dict's names and order, but the live tensors."""
    if not isinstance(network, torch.nn.Module):
        return
    for name, value in network.state_dict(keep_vars=True).items():
        if isinstance(value, torch.Tensor):
            yield name, value


def named_attributes(network):
    """Tensors in attributes of modules, that state_dict does not list."""
    modules = network.named_modules() if isinstance(network, torch.nn.Module) else [("", network)]
    for prefix, module in modules:
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if isinstance(value, torch.Tensor):
                yield (f"{prefix}.{name}" if prefix else name), value
