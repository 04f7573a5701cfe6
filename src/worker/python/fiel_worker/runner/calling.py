"""weights, call and state: what is done with a loaded module."""

import time

import torch

from .. import values
from ..channel import Context
from . import aliases, outputs, weights
from .failures import foreign_code
from .loading import settle
from .module import named_attributes


class Calling:
    def op_weights(self, message: dict, context: Context) -> dict:
        module = self.module(message["module"])
        answer = weights.give(module, message["leaves"], self.window(message["window"]))
        settle(self.device)
        return answer

    def op_call(self, message: dict, context: Context) -> dict:
        """`private`: inputs are copies and the window stays as it is, whatever the call does."""
        module, window = self.module(message["module"]), self.window(message["window"])
        target, region = self.window(message["out"]), message["region"]
        inputs = values.tensors_of(window, message["inputs"])
        if message.get("private"):
            inputs = private(inputs)
        module.assert_policy()
        with foreign_code(self.printed, self.device, module.kind):
            result, clocks = timed_once(module, inputs, self.device)
            tree, leaves, tensors = outputs.describe(result, self.device)
            shared = aliases.with_inputs(leaves, tensors, inputs)
            outputs.place(target, region, leaves, tensors)
            settle(self.device)
        answer = {"outputs": {"tree": tree, "leaves": leaves}, "aliases": shared}
        return answer | clocks | {"printed": self.printed.text()}

    def op_state(self, message: dict, context: Context) -> dict:
        """Buffers and tensors held as attributes; what the region has no room for is named."""
        module, window = self.module(message["module"]), self.window(message["window"])
        region, left_out, taken = message["region"], [], []
        kept = state_after(module)
        room = region["bytes"] - values.GUARD_BYTES
        for name, tensor in kept:
            size = values.align(values.GUARD_BYTES + tensor.numel() * tensor.element_size())
            if size + values.ALIGNMENT > room or outputs.strangeness(tensor, self.device):
                left_out.append(name)
                continue
            room -= size + values.ALIGNMENT
            taken.append((name, tensor))
        leaves = [outputs.leaf_of(name, tensor) for name, tensor in taken]
        outputs.place(window, region, leaves, [tensor.detach() for _, tensor in taken])
        settle(self.device)
        tree = {"dict": [[name, {"leaf": i}] for i, (name, _) in enumerate(taken)]}
        return {"state": {"tree": tree, "leaves": leaves}, "left_out": left_out}


def state_after(module) -> list[tuple[str, torch.Tensor]]:
    network = module.network
    buffers = network.named_buffers() if isinstance(network, torch.nn.Module) else []
    found = dict(buffers) | dict(named_attributes(network))
    return list(found.items())[: values.MAX_LEAVES]


def private(value):
    """Copies with the same strides."""
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device=value.device
        ).copy_(value)
    if isinstance(value, dict):
        return {key: private(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(private(item) for item in value)
    return value


def timed_once(module, inputs, device: str):
    """(result, {device_ns, host_ns}): claims of this process, of one call that is not warm."""
    on_gpu = device.startswith("cuda")
    settle(device)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if on_gpu else None
    begin = time.perf_counter_ns()
    if events:
        events[0].record()
    result = module.forward(inputs)
    if events:
        events[1].record()
    settle(device)
    host_ns = time.perf_counter_ns() - begin
    device_ns = events[0].elapsed_time(events[1]) * 1e6 if events else None
    return result, {"device_ns": device_ns, "host_ns": host_ns}
