"""Fresh inputs for every timed call, at the price of a few passes over their memory.

The task's own get_inputs is drawn anew on the device, so that every input is legal by construction.
Where that is slow (draws on the CPU), rows of a few base draws are mixed at random instead, for those
inputs whose rows can be exchanged: floating data that is dense, not a mask, not triangular.
"""

import time

import torch

from .. import values

_SLOW_S = 0.030
_BASE_DRAWS = 4


class FreshInputs:
    """`draw(seed)` gives the case's inputs for a seed, on the device."""

    def __init__(self, draw, device: str, first_seed: int):
        self._draw, self._device, self._base = draw, device, None
        draw(first_seed)  # first calls pay for loading kernels
        self.draw_ns = self._time_draw(first_seed + 1)
        if self.draw_ns > _SLOW_S * 1e9:  # or this process was paused
            self.draw_ns = min(self.draw_ns, self._time_draw(first_seed + 1))
        self.how = "drawn"
        if self.draw_ns > _SLOW_S * 1e9:
            self._base = [self._leaves(first_seed + i) for i in range(_BASE_DRAWS)]
            self._mixable = [can_mix(leaf) for leaf in self._base[0]]
            self.how = "rows of four draws mixed" if any(self._mixable) else "drawn"
            if not any(self._mixable):
                self._base = None

    def write(self, seed: int, targets: list[torch.Tensor]) -> None:
        """Writes the inputs of a seed: the same seed gives the same bytes."""
        if self._base is None:
            for target, leaf in zip(targets, self._leaves(seed)):
                write_into(target, leaf)
            return
        generator = torch.Generator(self._device)
        generator.manual_seed(seed)
        # What cannot be mixed row by row is one of the base draws: all of them of the same one,
        # since inputs may belong together.
        whole = self._base[seed % _BASE_DRAWS]
        for i, target in enumerate(targets):
            if self._mixable[i]:
                mix_rows([draw[i] for draw in self._base], target, generator)
            else:
                write_into(target, whole[i])

    def value(self, seed: int):
        """The nested value of a seed in private memory, as `write` wrote it."""
        tree, leaves = values.flatten(self._draw(seed))
        tensors = [leaf for _, leaf in leaves]
        if self._base is not None:
            tensors = [torch.empty_like(leaf) for leaf in tensors]
            self.write(seed, tensors)
        return values.rebuild(tree, tensors)

    def _leaves(self, seed: int) -> list[torch.Tensor]:
        return [leaf for _, leaf in values.flatten(self._draw(seed))[1]]

    def _time_draw(self, seed: int) -> int:
        begun = time.perf_counter_ns()
        self._draw(seed)
        if self._device.startswith("cuda"):
            torch.cuda.synchronize(self._device)
        return time.perf_counter_ns() - begun


def write_into(target: torch.Tensor, source: torch.Tensor) -> None:
    """copy_, also for a broadcast tensor, whose repeated elements are one in memory."""
    for dim, stride in enumerate(target.stride()):
        if stride == 0 and target.shape[dim] > 1:
            target, source = target.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
    target.copy_(source)


def can_mix(leaf: torch.Tensor) -> bool:
    """Rows may change places when a tensor is floating, has many of them, and is not sparse."""
    if not leaf.is_floating_point() or leaf.dim() == 0 or 0 in leaf.stride() or leaf.shape[0] < 16 or leaf.numel() < 1024:
        return False
    head = leaf.reshape(-1)[: 1 << 20] if leaf.is_contiguous() else leaf[:16].reshape(-1)
    zeros = int((head == 0).sum())
    return zeros * 100 < head.numel()


def mix_rows(draws: list[torch.Tensor], target: torch.Tensor, generator: torch.Generator) -> None:
    """Fills the target with rows of the draws, each row's source and draw chosen at random."""
    rows, device = target.shape[0], target.device
    cuts = sorted(torch.randint(1, rows, (len(draws) - 1,), generator=generator, device=device).tolist())
    order = torch.randperm(rows, generator=generator, device=device)
    for draw, begin, end in zip(draws, [0, *cuts], [*cuts, rows]):
        if end > begin:
            target[begin:end] = draw.index_select(0, order[begin:end])
