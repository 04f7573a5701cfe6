"""torch.nn.functional switched off while a candidate's forward runs, as CUDA-Agent does it: the
attributes of one module. What was imported before, torch's own functions and tensor methods pass."""

import contextlib

import torch.nn.functional


@contextlib.contextmanager
def functional_blocked(active: bool):
    module = torch.nn.functional
    kept = {}
    if active:
        for name in dir(module):
            if not name.startswith("_") and callable(getattr(module, name)):
                kept[name] = getattr(module, name)
                setattr(module, name, _refusal(name))
    try:
        yield
    finally:
        for name, attribute in kept.items():
            setattr(module, name, attribute)


def _refusal(name: str):
    def refuse(*arguments, **keywords):
        raise RuntimeError(f"torch.nn.functional.{name} is not allowed in this context")

    return refuse
