"""What a module holds: the copy in float64, the state before a call, other weights.

A call may change buffers (BatchNorm) and plain attributes (a hidden state kept on the module);
every evaluation starts from the same.
"""

import copy
import weakref

import torch

from .precision import widen

_STATISTICS = ("running_mean", "running_var")


class State:
    """Everything a module holds beside its parameters, to be put back before each call."""

    def __init__(self, model: torch.nn.Module):
        self._saved = [(m, _shallow(m.__dict__)) for m in model.modules()]
        self._values = [(t, t.clone()) for t in _loose_tensors(model)]
        self._parameters = [(p, p._version) for p in model.parameters()]

    def restore(self) -> None:
        for module, attributes in self._saved:
            module.__dict__.clear()
            module.__dict__.update(_shallow(attributes))
        for tensor, value in self._values:
            with torch.no_grad():
                tensor.copy_(value)

    def parameters_changed(self) -> bool:
        return any(p._version != version for p, version in self._parameters)


def _shallow(attributes: dict) -> dict:
    """Containers are copied one level deep: forward may append to a list or set a buffer."""
    return {k: copy.copy(v) if isinstance(v, (dict, list, set)) else v for k, v in attributes.items()}


def _loose_tensors(model: torch.nn.Module):
    """Buffers and tensors kept as plain attributes."""
    yield from model.buffers()
    for module in model.modules():
        for value in module.__dict__.values():
            items = value if isinstance(value, (list, tuple)) else (value,)
            for item in items:
                if isinstance(item, torch.Tensor) and not isinstance(item, torch.nn.Parameter):
                    yield item


def named_state(model: torch.nn.Module) -> list[tuple[str, str, torch.Tensor]]:
    """(name, parameter | buffer, tensor) in state_dict's order; then what state_dict leaves out:
    buffers that are not persistent, and plain tensor attributes, as buffers. A tensor of two names
    is there once. A bare kernel gets its weights in this order."""
    found = [(n, "parameter", p) for n, p in model.named_parameters()]
    found += [(n, "buffer", b) for n, b in model.named_buffers()]
    for prefix, module in model.named_modules():
        for key, value in module.__dict__.items():
            if isinstance(value, torch.Tensor):
                found.append((f"{prefix}.{key}" if prefix else key, "buffer", value))
    places = _places_in_state_dict(model)
    found.sort(key=lambda entry: places.get(id(entry[2]), len(places)))
    return found


def _places_in_state_dict(model: torch.nn.Module) -> dict[int, int]:
    """Where each tensor stands; modules may have a state_dict of their own, which is then ignored."""
    try:
        values = list(torch.nn.Module.state_dict(model, keep_vars=True).values())
    except (RuntimeError, TypeError, AttributeError):
        return {}
    places: dict[int, int] = {}
    for i, value in enumerate(values):
        places.setdefault(id(value), i)
    return places


def wide_copy(model: torch.nn.Module) -> torch.nn.Module:
    """A module of its own with every floating tensor in float64."""
    wide = copy.deepcopy(model)
    twins: dict[int, torch.nn.Parameter] = {}  # a parameter of two names stays one
    narrow = [p for p in wide.parameters()]  # alive: their ids are theirs alone
    for parameter in narrow:
        twins[id(parameter)] = torch.nn.Parameter(widen(parameter.detach()), False)
    for module in wide.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                module._parameters[name] = twins[id(parameter)]
        for name, buffer in list(module._buffers.items()):
            if buffer is not None:
                module._buffers[name] = widen(buffer)
        for key, value in list(module.__dict__.items()):
            if isinstance(value, torch.Tensor):
                module.__dict__[key] = widen(value)
            elif isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
                items = [widen(v) if isinstance(v, torch.Tensor) else v for v in value]
                module.__dict__[key] = type(value)(items) if type(value) in (list, tuple) else value
        # Recurrent layers keep a second list of their weights.
        if isinstance(module, torch.nn.RNNBase):
            module._flat_weights = [getattr(module, n) for n in module._flat_weights_names]
            module._flat_weight_refs = [weakref.ref(w) for w in module._flat_weights]
    return wide


def copy_values(source: torch.nn.Module, target: torch.nn.Module) -> None:
    with torch.no_grad():
        for (_, _, a), (_, _, b) in zip(named_state(source), named_state(target)):
            b.copy_(a)


class Weights:
    """The reference's weights as given, or drawn anew so that nothing is left at zeros and ones."""

    def __init__(self, model: torch.nn.Module):
        self._model = model
        self._given = [(t, t.clone()) for _, _, t in named_state(model)]
        self.current = "given"

    def apply(self, which) -> None:
        if which == self.current:
            return
        with torch.no_grad():
            for tensor, value in self._given:
                tensor.copy_(value)
            if which != "given":
                randomise(self._model, int(which))
        self.current = which


def randomise(model: torch.nn.Module, seed: int) -> None:
    """Parameters keep the spread that their constructor gave them; constants get one of their own.
    Of the buffers only running statistics change: others are masks and tables."""
    generator = torch.Generator().manual_seed(seed & 0x7FFFFFFFFFFFFFFF)

    def normal(tensor):
        if tensor.numel() > 1 << 24 and tensor.device.type != "cpu":
            local = torch.Generator(device=tensor.device)
            local.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            return torch.randn(tensor.shape, generator=local, device=tensor.device)
        return torch.randn(tensor.shape, generator=generator).to(tensor.device)

    with torch.no_grad():
        for _, parameter in model.named_parameters():
            if parameter.is_floating_point() and parameter.numel():
                parameter.copy_(_redrawn(parameter, normal))
        for module in model.modules():
            mean, var = (module._buffers.get(k) for k in _STATISTICS)
            if mean is not None and var is not None:
                mean.copy_(0.2 * normal(mean))
                var.copy_(0.5 + normal(var).abs().clamp_max(2.5))


def _redrawn(parameter: torch.Tensor, normal) -> torch.Tensor:
    values = parameter.to(torch.float32) if parameter.element_size() < 4 else parameter
    mean = float(values.mean())
    spread = float(values.std()) if values.numel() > 1 else 0.0
    noise = normal(parameter)
    if spread > 1e-6 * max(abs(mean), 1e-30):
        return mean + spread * noise.clamp(-4, 4)
    if abs(mean) > 1e-12:  # ones: scales of a normalisation, kept away from zero
        return mean * (1 + 0.3 * noise.clamp(-2.5, 2.5))
    fan = parameter[0].numel() if parameter.dim() > 1 else 0
    return noise * (fan**-0.5 if fan else 0.2)
