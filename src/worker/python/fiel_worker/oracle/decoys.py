"""What keeps a runner from working before its clock runs: inputs that are not yet the right ones.

    decoys.draw(chosen, generator)    # after the inputs were written: secret places in all of them
    decoys.show()                     # there, other values of the same input: the wrong question
    decoys.reveal()                   # inside the timed span: the right values, in one small kernel

A runner may look at its inputs before its clock runs, and one that is held has its work queued. Each
input differs from the true one in an element every few kilobytes until then, so that an answer made
early is an answer to other inputs. The values are of the input itself, in other places: indices stay
in range, masks stay masks.
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

    def draw(self, chosen: list[int], generator: torch.Generator) -> None:
        positions, other = [], []
        for begin, item, elements, count in self._parts_of(tuple(chosen)):
            places = torch.randint(
                0, elements, (count,), generator=generator, device=self._device
            )
            bytes_of = (begin + places[:, None] * item + torch.arange(item, device=self._device))
            positions.append(bytes_of.reshape(-1))
            other.append(bytes_of.roll(1, 0).reshape(-1))
        empty = torch.zeros(0, dtype=torch.int64, device=self._device)
        self._positions = torch.cat(positions) if positions else empty
        self._true = self._flat.index_select(0, self._positions)
        self._other = self._flat.index_select(0, torch.cat(other) if other else empty)

    def show(self) -> None:
        self._flat.index_copy_(0, self._positions, self._other)

    def reveal(self) -> None:
        self._flat.index_copy_(0, self._positions, self._true)

    def _parts_of(self, chosen: tuple) -> list[tuple[int, int, int, int]]:
        """(begin, element size, elements, how many to change) of each input of a sample."""
        if chosen not in self._parts:
            found = []
            for index in chosen:
                for leaf, begin, end in self._slots.read_leaves(index):
                    item = DTYPES[leaf["dtype"]].itemsize
                    fair = (end - begin) // _BYTES_A_DECOY
                    count = min(max(fair, _LEAST_A_LEAF), _MOST_A_LEAF)
                    found.append((begin, item, (end - begin) // item, count))
            shown = sum(item * count for _, item, _, count in found)
            shrink = max(1, -(-shown // _MOST_BYTES))
            if len(self._parts) > 64:
                self._parts.clear()
            self._parts[chosen] = [
                (begin, item, n, max(_LEAST_A_LEAF, count // shrink)) for begin, item, n, count in found
            ]
        return self._parts[chosen]
