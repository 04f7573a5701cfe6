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
        self.outputs_window = None
        for _ in range(count):
            slot = {"inputs": copy.deepcopy(inputs), "outputs": copy.deepcopy(outputs)}
            self.inputs_bytes = values.layout(slot["inputs"]["leaves"], self.inputs_bytes)
            self.outputs_bytes = values.layout(slot["outputs"]["leaves"], self.outputs_bytes)
            self.layout.append(slot)

    def open(self, inputs_window, outputs_window) -> None:
        if inputs_window.bytes < self.inputs_bytes or outputs_window.bytes < self.outputs_bytes:
            raise Fault("worker", "the windows are too small for their slots")
        self.outputs_window = outputs_window
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
        found = []
        for leaf in self.layout[index]["outputs"]["leaves"]:
            size = values.extent_bytes(leaf["shape"], leaf["stride"], values.DTYPES[leaf["dtype"]])
            if size:
                found.append((leaf["offset"], leaf["offset"] + size))
        return found


    def private(self, index: int) -> "PrivateOutputs":
        """A copy of a slot's outputs that no runner can reach."""
        extents = self.extents(index)
        begin = min((b for b, _ in extents), default=0)
        end = max((e for _, e in extents), default=0)
        held = self.outputs_window.flat[begin:end].clone()
        tensors = []
        for leaf in self.layout[index]["outputs"]["leaves"]:
            dtype, shape, stride = values.DTYPES[leaf["dtype"]], leaf["shape"], leaf["stride"]
            size, at = values.extent_bytes(shape, stride, dtype), leaf["offset"] - begin
            raw = held[at : at + size] if size else held[:0]
            tensors.append(raw.view(dtype).as_strided(shape, stride))
        return PrivateOutputs(begin, held, values.rebuild(self.slots[index].output_tree, tensors))


class PrivateOutputs:
    """Bytes [begin, …) of the outputs window, and the nested value that they hold."""

    def __init__(self, begin: int, held: torch.Tensor, value):
        self.begin, self.held, self.value = begin, held, value


class Snapshot:
    """The oracle's own copy of sampled output bytes, taken the moment a runner says `done`.

    It is part of the timed wall span: work still in flight is waited for or missed, and a missed
    byte shows when the call is one of those verified in full. The positions are secret.
    """

    def __init__(self, slots: SlotSet, device: str, bytes_per_slot: int = 4096):
        self._slots, self.device, self._per_slot = slots, device, bytes_per_slot
        self._flat = slots.outputs_window.flat

    def draw(self, chosen: list[int], generator: torch.Generator) -> None:
        """Chooses positions in the outputs of the slots of one sample."""
        parts = []
        for index in chosen:
            extents = self._slots.extents(index)
            per_extent = max(1, self._per_slot // max(1, len(extents)))
            for begin, end in extents:
                count = min(per_extent, end - begin)
                parts.append(
                    torch.randint(begin, end, (count,), generator=generator, device=self.device)
                )
        empty = torch.zeros(0, dtype=torch.int64, device=self.device)
        self._positions = torch.cat(parts) if parts else empty
        self._taken = torch.empty(len(self._positions), dtype=torch.uint8, device=self.device)

    def take(self) -> None:
        torch.index_select(self._flat, 0, self._positions, out=self._taken)

    def agrees_with(self, copy: PrivateOutputs) -> bool:
        """Whether a copy made later holds what the outputs held when the snapshot was taken."""
        inside = (self._positions >= copy.begin) & (self._positions < copy.begin + len(copy.held))
        later = copy.held.index_select(0, self._positions[inside] - copy.begin)
        return bool(torch.equal(later, self._taken[inside]))

    def unchanged(self) -> bool:
        """Whether the window still holds what it held when the snapshot was taken."""
        now = torch.index_select(self._flat, 0, self._positions)
        return bool(torch.equal(now, self._taken))
