"""The oracle's own copy of sampled output bytes, taken the moment a runner says `done`.

    snapshot.draw(chosen, generator)     # secret places, spread over the whole of every output
    snapshot.poison()                    # before the call: no output is there yet
    snapshot.take()                      # at `done`, inside the timed wall span
    snapshot.missing(), snapshot.look().unchanged()

Work still in flight at `done` is waited for or missed. What was missed still is poison; what was half
done changes later. Either makes the call a failed one, whether or not it is compared in full.
"""

import torch

from ..values import DTYPES
from .slots import PrivateOutputs, SlotSet

CHUNK_BYTES = 16  # long enough that no answer holds the poison by chance
_MOST_CHUNKS, _LEAST_A_SLOT, _MOST_A_SLOT = 8192, 16, 256
_LEAST_TELLING_BYTES = 4  # an output of one or two bytes may be the poison by chance
_TILE_BYTES = 1 << 20


class Snapshot:
    def __init__(self, slots: SlotSet, device: str):
        self._slots, self.device = slots, device
        self._flat = slots.outputs_window.flat
        self._tile = torch.randint(0, 256, (_TILE_BYTES,), dtype=torch.uint8, device=device)
        self._within = torch.arange(CHUNK_BYTES, device=device)
        self._before = None
        self._strata: dict[tuple, tuple] = {}

    def draw(self, chosen: list[int], generator: torch.Generator) -> None:
        """Chooses places in the outputs of the slots of one sample: one in each of many equal parts,
        so that a call that has done all but a share s is seen with 1 − (1 − s)^n."""
        self._chosen = chosen
        begins, steps, lasts, self._tells = self._strata_of(tuple(chosen))
        moved = torch.rand(len(begins), generator=generator, device=self.device, dtype=torch.float64)
        starts = (begins + moved * steps).long()
        self._chunks = torch.minimum(starts[:, None] + self._within, lasts[:, None])
        self._positions = self._chunks.reshape(-1)
        # Two buffers at hand: an allocation would be part of the timed span.
        self._taken, self._again = (
            torch.empty(len(self._positions), dtype=torch.uint8, device=self.device)
            for _ in range(2)
        )
        self._before = None

    def poison(self) -> None:
        """Overwrites the outputs with noise: an answer of an earlier call is gone, and an element
        that stays unwritten is known."""
        for index in self._chosen:
            for begin, end in self._slots.extents(index):
                fill(self._flat[begin:end], self._tile)
        self._before = torch.index_select(self._flat, 0, self._positions)

    def take(self) -> None:
        torch.index_select(self._flat, 0, self._positions, out=self._taken)

    def look_again(self) -> None:
        """A second look at once, for its time: work that is still on the device holds it up."""
        torch.index_select(self._flat, 0, self._positions, out=self._again)

    def missing(self) -> int:
        """Chunks that still held the poison when the snapshot was taken."""
        if self._before is None:
            return 0
        same = (self._taken == self._before).reshape(self._chunks.shape).all(dim=1)
        return int((same & self._tells).sum())

    def changed_at_once(self) -> bool:
        return not torch.equal(self._again, self._taken)

    def agrees_with(self, copy: PrivateOutputs) -> bool:
        """Whether a copy made later holds what the outputs held when the snapshot was taken."""
        inside = (self._positions >= copy.begin) & (self._positions < copy.begin + len(copy.held))
        later = copy.held.index_select(0, self._positions[inside] - copy.begin)
        return bool(torch.equal(later, self._taken[inside]))

    def look(self) -> "Look":
        """What was taken, to look at again."""
        return Look(self._flat, self._positions, self._taken)

    def _strata_of(self, chosen: tuple) -> tuple:
        """(begin, length, last byte, whether poison tells) of the parts that a chunk each is from."""
        if chosen in self._strata:
            return self._strata[chosen]
        begins, steps, lasts, tells = [], [], [], []
        a_slot = max(_LEAST_A_SLOT, min(_MOST_A_SLOT, _MOST_CHUNKS // len(chosen)))
        for index in chosen:
            leaves = self._slots.written_leaves(index)
            for leaf, begin, end in leaves:
                room = max(1, end - begin - CHUNK_BYTES + 1)
                count = max(1, min(a_slot // len(leaves), (end - begin) // CHUNK_BYTES))
                begins += [begin + i * room / count for i in range(count)]
                steps += [room / count] * count
                lasts += [end - 1] * count
                tells += [_dense(leaf, end - begin) and end - begin >= _LEAST_TELLING_BYTES] * count
        if len(self._strata) > 64:
            self._strata.clear()
        on_device = lambda values, dtype: torch.tensor(values, dtype=dtype, device=self.device)
        self._strata[chosen] = (
            on_device(begins, torch.float64), on_device(steps, torch.float64),
            on_device(lasts, torch.int64), on_device(tells, torch.bool),
        )
        return self._strata[chosen]


class Look:
    def __init__(self, flat: torch.Tensor, positions: torch.Tensor, taken: torch.Tensor):
        self._flat, self._positions, self._taken = flat, positions, taken

    def unchanged(self) -> bool:
        """Whether the window still holds what it held when the snapshot was taken."""
        now = torch.index_select(self._flat, 0, self._positions)
        return bool(torch.equal(now, self._taken))


def _dense(leaf: dict, size: int) -> bool:
    """Gaps between an output's elements are never written."""
    elements = 1
    for n in leaf["shape"]:
        elements *= n
    return elements * DTYPES[leaf["dtype"]].itemsize == size


def fill(target: torch.Tensor, tile: torch.Tensor) -> None:
    """Repeats a tile over bytes."""
    whole = len(target) // len(tile) * len(tile)
    if whole:
        target[:whole].view(-1, len(tile)).copy_(tile)
    if whole < len(target):
        target[whole:].copy_(tile[: len(target) - whole])
