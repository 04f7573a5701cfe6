"""Slots: the places of timed calls in a pair of windows, one call's inputs and outputs each.

A sample of a short kernel is a batch of `calls` slots, each with inputs of its own.
"""

import copy

import torch

from .. import values
from ..channel import Fault

MAX_SLOTS = 1024


class Slot:
    def __init__(self, inputs: list[torch.Tensor], output_tree, outputs: list[torch.Tensor]):
        self.inputs, self.output_tree, self.outputs = inputs, output_tree, outputs


class SlotSet:
    """Slots laid out for a case; `layout` is what the runner is told."""

    def __init__(self, inputs: dict, outputs: dict, count: int):
        if not 0 < count <= MAX_SLOTS:
            raise Fault("worker", f"between 1 and {MAX_SLOTS} slots, not {count}")
        self.layout, self.inputs_bytes, self.outputs_bytes = [], 0, 0
        self.slots: list[Slot] = []
        self.inputs_window, self.outputs_window = None, None
        for _ in range(count):
            slot = {"inputs": copy.deepcopy(inputs), "outputs": copy.deepcopy(outputs)}
            self.inputs_bytes = values.layout(slot["inputs"]["leaves"], self.inputs_bytes)
            self.outputs_bytes = values.layout(slot["outputs"]["leaves"], self.outputs_bytes)
            self.layout.append(slot)

    def open(self, inputs_window, outputs_window) -> None:
        if inputs_window.bytes < self.inputs_bytes or outputs_window.bytes < self.outputs_bytes:
            raise Fault("worker", "the windows are too small for their slots")
        self.inputs_window, self.outputs_window = inputs_window, outputs_window
        self.slots = [
            Slot(
                [values.view(inputs_window, leaf) for leaf in slot["inputs"]["leaves"]],
                slot["outputs"]["tree"],
                [values.view(outputs_window, leaf) for leaf in slot["outputs"]["leaves"]],
            )
            for slot in self.layout
        ]

    def extents(self, index: int) -> list[tuple[int, int]]:
        """(begin, end) of each output's bytes in the window."""
        return [(begin, end) for _, begin, end in self.written_leaves(index)]

    def written_leaves(self, index: int) -> list[tuple[dict, int, int]]:
        """(output, begin, end) of those outputs that have bytes."""
        return occupied(self.layout[index]["outputs"]["leaves"])

    def read_leaves(self, index: int) -> list[tuple[dict, int, int]]:
        """The same of the inputs, in their window."""
        return occupied(self.layout[index]["inputs"]["leaves"])

    def private(self, index: int) -> "PrivateOutputs":
        """A copy of a slot's outputs that no runner can reach."""
        begin, held, tensors = copied(self.outputs_window, self.layout[index]["outputs"]["leaves"])
        return PrivateOutputs(begin, held, values.rebuild(self.slots[index].output_tree, tensors))

    def staged(self, index: int) -> "StagedInputs":
        """A copy of a slot's inputs that no runner can reach, to be filled and then shown."""
        return StagedInputs(
            self.inputs_window, *copied(self.inputs_window, self.layout[index]["inputs"]["leaves"])
        )


class PrivateOutputs:
    """Bytes [begin, …) of the outputs window, and the nested value that they hold."""

    def __init__(self, begin: int, held: torch.Tensor, value):
        self.begin, self.held, self.value = begin, held, value


class StagedInputs:
    """Bytes [begin, …) of the inputs window to be, and the tensors that lie in them."""

    def __init__(self, window, begin: int, held: torch.Tensor, tensors: list[torch.Tensor]):
        self._window, self.begin, self.held, self.tensors = window, begin, held, tensors

    def show(self) -> None:
        self._window.flat[self.begin : self.begin + self.held.numel()].copy_(self.held)


def copied(window, leaves: list[dict]) -> tuple[int, torch.Tensor, list[torch.Tensor]]:
    """(begin, bytes, tensors) of the part of a window that the leaves span."""
    extents = [(begin, end) for _, begin, end in occupied(leaves)]
    begin = min((b for b, _ in extents), default=0)
    end = max((e for _, e in extents), default=0)
    held = window.flat[begin:end].clone()
    tensors = []
    for leaf in leaves:
        dtype, shape, stride = values.DTYPES[leaf["dtype"]], leaf["shape"], leaf["stride"]
        size, at = values.extent_bytes(shape, stride, dtype), leaf["offset"] - begin
        raw = held[at : at + size] if size else held[:0]
        tensors.append(raw.view(dtype).as_strided(shape, stride))
    return begin, held, tensors


def occupied(leaves: list[dict]) -> list[tuple[dict, int, int]]:
    found = []
    for leaf in leaves:
        size = values.extent_bytes(leaf["shape"], leaf["stride"], values.DTYPES[leaf["dtype"]])
        if size:
            found.append((leaf, leaf["offset"], leaf["offset"] + size))
    return found
