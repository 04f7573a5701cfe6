"""build: what a first call of a compiled module would compile, compiled without running it.

Compiling takes a minute of the host and nothing of the device. Apart from the call, it need not wait for a
turn on a GPU, and disturbs nobody's timing there.
"""

import torch

from .. import values
from ..channel import Context
from .failures import foreign_code


class Building:
    def op_build(self, message: dict, context: Context) -> dict:
        """`built` false: nothing that could be built apart; the first call does it."""
        module = self.module(message["module"])
        inputs = values.tensors_of(self.window(message["window"]), message["inputs"])
        if module.call is module.network:
            return {"built": False, "printed": ""}
        module.assert_policy()
        with foreign_code(self.printed, self.device, module.kind):
            built = built_alone(lambda: module.forward(inputs))
        return {"built": built, "printed": self.printed.text()}


class _Built(BaseException):
    """Leaves a compiled graph where it would start to run: no handler of errors may stop it."""


def built_alone(forward) -> bool:
    """Calls with inductor's entry into a compiled graph replaced, up to the first of them. Where graphs
    are broken, the later ones are left to the first call."""
    graph = entry()
    if graph is None:
        return False
    begin = graph.__call__

    def leave(*_, **__):
        raise _Built()

    graph.__call__ = leave
    try:
        forward()
    except _Built:
        return True
    finally:
        graph.__call__ = begin
    return False


def entry():
    """Inductor's compiled graph; None in a PyTorch that has it elsewhere."""
    try:
        from torch._inductor.output_code import CompiledFxGraph
    except ImportError:
        return None
    return CompiledFxGraph if callable(getattr(CompiledFxGraph, "__call__", None)) else None
