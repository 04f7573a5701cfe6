"""What keeps a runner from working before its clock runs: inputs that are not yet the right ones.

    decoys.write(chosen, fill, generator)    # inputs of all these slots, each wrong at secret places
    decoys.reveal()                          # inside the timed span: the right values, in one small kernel

A runner may look at its inputs before its clock runs, at any moment, and one that is held has its work
queued. Each input differs from the true one in an element every few kilobytes until then, so that an
answer made early is an answer to other inputs: the true ones are put together where no runner sees
them. The values are of the input itself, in other places: indices stay in range, masks stay masks.
"""

import torch

from ..values import DTYPES
from .slots import SlotSet

_BYTES_A_DECOY = 4096
_LEAST_A_LEAF, _MOST_A_LEAF = 16, 4096
_MOST_BYTES = 1 << 20  # of a sample


class Decoys:
    def __init__(self, slots: SlotSet, device: str):
        self._slots, self._device = slots, device
        self._flat = slots.inputs_window.flat
        self._parts: dict[tuple, list] = {}

    def write(self, chosen: list[int], fill, generator: torch.Generator) -> None:
        """`fill(i, tensors)` puts the inputs of the ith chosen slot into private tensors."""
        none = torch.zeros(0, dtype=torch.int64, device=self._device)
        positions, true = [none], [self._flat[:0]]
        for i, (index, parts) in enumerate(zip(chosen, self._parts_of(tuple(chosen)))):
            staged = self._slots.staged(index)
            fill(i, staged.tensors)
            for begin, item, elements, count in parts:
                places = torch.randint(
                    0, elements, (count,), generator=generator, device=self._device
                )
                bytes_of = begin + places[:, None] * item + torch.arange(item, device=self._device)
                here = bytes_of - staged.begin
                at, other = here.reshape(-1), here.roll(1, 0).reshape(-1)
                positions.append(bytes_of.reshape(-1))
                true.append(staged.held.index_select(0, at))
                staged.held.index_copy_(0, at, staged.held.index_select(0, other))
            staged.show()
        self._positions, self._true = torch.cat(positions), torch.cat(true)

    def reveal(self) -> None:
        self._flat.index_copy_(0, self._positions, self._true)

    def _parts_of(self, chosen: tuple) -> list[list[tuple[int, int, int, int]]]:
        """Of each slot of a sample: (begin, element size, elements, how many to change) of its inputs."""
        if chosen not in self._parts:
            if len(self._parts) > 64:
                self._parts.clear()
            found = [self._parts_of_slot(index) for index in chosen]
            shown = sum(item * count for parts in found for _, item, _, count in parts)
            shrink = max(1, -(-shown // _MOST_BYTES))
            self._parts[chosen] = [
                [(begin, item, n, max(_LEAST_A_LEAF, count // shrink)) for begin, item, n, count in parts]
                for parts in found
            ]
        return self._parts[chosen]

    def _parts_of_slot(self, index: int) -> list[tuple[int, int, int, int]]:
        parts = []
        for leaf, begin, end in self._slots.read_leaves(index):
            item = DTYPES[leaf["dtype"]].itemsize
            fair = (end - begin) // _BYTES_A_DECOY
            count = min(max(fair, _LEAST_A_LEAF), _MOST_A_LEAF)
            parts.append((begin, item, (end - begin) // item, count))
        return parts
