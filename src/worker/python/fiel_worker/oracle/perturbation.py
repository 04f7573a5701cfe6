"""Small changes to a tensor that never cancel by chance: the trials of the error model.

Each trial multiplies by 1 ± amount · m. The signs of a source (one operand or result of one operator)
come from a row of a Hadamard matrix, other rows for neighbouring elements, times a random sign that is
the same in all trials. Up to seven errors that meet in one element then add up as a root of squares.
The sizes m, of mean square 1, are drawn for each element and trial: with one size for all, two elements of
one row and sign would move as one in every trial, and their difference, which is what a softmax makes of
the two largest of its row, would look insensitive.
"""

import functools

import torch

_PIECE = 1 << 26  # elements changed at once
_PLANES_KEPT = 1 << 24  # bytes of one plane
_SMALL, _POOL = 1 << 16, 1 << 20  # elements
_BLOCK_OF_ROWS = 1 << 20  # elements
_LARGEST = (6 * 255 / 511) ** 0.5  # times a byte over 255: mean square 1


class Perturbation:
    def __init__(self, seed: int, trial: int, trials: int, systematic: bool, storage_skip=None,
                 shift: str | None = None, reach: float = 1.0):
        # Only results of contractions and sums move then, by `reach` of their own deviations: "one" up or
        # down by a drawn sign each, "other" the other way, "all" away from zero.
        self.shift, self.reach = shift, reach
        self.seed, self.trial, self.trials = seed, trial, trials
        self.systematic = systematic
        self.storage_skip = storage_skip  # not None: only what storing in narrow types rounds
        self._planes, self._small, self._unit = {}, {}, None

    def move(self, tensor: torch.Tensor, amount: float, source: int, scale=None,
             own: bool = False, sizes: bool = True) -> torch.Tensor:
        """tensor ± amount · m · scale, where scale is |tensor| or what is given, and m is 1 without
        `sizes`; in place where the tensor is the caller's own and large."""
        if scale is None and tensor.numel() <= _SMALL:
            # A factor, not a sum: an infinity stays one.
            by = self._small_signs(tensor, source)
            if sizes:
                by = by * self._small_sizes(tensor, source)
            return tensor * torch.add(self._one(tensor.device), by, alpha=amount)
        flat = tensor.reshape(-1)
        by = None if scale is None else scale.reshape(-1)
        out = flat if own and tensor.is_contiguous() else torch.empty_like(flat)
        for k, begin in enumerate(range(0, flat.numel(), _PIECE)):
            at = slice(begin, begin + _PIECE)
            signs = self._signs(flat[at].numel(), source, k, tensor, sizes)
            torch.addcmul(flat[at], flat[at] if by is None else by[at], signs, value=amount, out=out[at])
        return out.reshape(tensor.shape)

    def shifted(self, tensor: torch.Tensor, amount: float, scale: torch.Tensor, source: int) -> torch.Tensor:
        """tensor ± amount · scale, as `shift` says."""
        if self.shift == "all":
            return torch.addcmul(tensor, tensor.sign(), scale, value=amount)
        return self.move(tensor, amount if self.shift == "one" else -amount, source, scale, sizes=False)

    def signed(self, tensor: torch.Tensor, source: int) -> torch.Tensor:
        """tensor times the signs and sizes of this trial."""
        flat = tensor.reshape(-1)
        out = torch.empty_like(flat)
        for k, begin in enumerate(range(0, flat.numel(), _PIECE)):
            at = slice(begin, begin + _PIECE)
            signs = self._signs(flat[at].numel(), source, k, tensor, True)
            torch.mul(flat[at], signs, out=out[at])
        return out.reshape(tensor.shape)

    def _small_signs(self, tensor: torch.Tensor, source: int) -> torch.Tensor:
        """±1 in the tensor's shape, cut from a pool: recurrent nets call thousands of operators on
        small tensors, and drawing would take longer than they do."""
        n, device = tensor.numel(), tensor.device
        pool = _pool(self.seed, device)
        at = (0x9E3779B1 * (source + 1) ^ self.seed) % (pool.numel() - n)
        signs = pool[at : at + n].view(tensor.shape)
        mask = _mask(source, self.trial, self.trials)
        if not mask:
            return signs
        key = (tuple(tensor.shape), mask)
        if key not in self._small:
            odd = torch.zeros(n, dtype=torch.uint8, device=device)
            for bit, plane in enumerate(self._row_bits(n, 0, tensor)):
                if mask >> bit & 1:
                    odd ^= plane
            self._small[key] = (1.0 - 2.0 * odd.to(torch.float64)).view(tensor.shape)
        return signs * self._small[key]

    def _small_sizes(self, tensor: torch.Tensor, source: int) -> torch.Tensor:
        n, pool = tensor.numel(), _pool_of_sizes(self.seed, self.trial, tensor.device)
        at = (0x85EBCA6B * (source + 1) ^ self.seed) % (pool.numel() - n)
        return pool[at : at + n].view(tensor.shape)

    def _one(self, device) -> torch.Tensor:
        if self._unit is None:
            self._unit = torch.ones((), dtype=torch.float64, device=device)
        return self._unit

    def _odd(self, n: int, source: int, piece: int, tensor: torch.Tensor) -> torch.Tensor:
        """uint8, 1 where the sign is negative."""
        odd = _random_bytes(n, self.seed + 0x9E3779B1 * (source + 1) + piece, tensor.device) & 1
        mask = _mask(source, self.trial, self.trials)
        if mask:
            for bit, plane in enumerate(self._row_bits(n, piece, tensor)):
                if mask >> bit & 1:
                    odd ^= plane
        return odd

    def _signs(self, n: int, source: int, piece: int, tensor: torch.Tensor, sizes: bool) -> torch.Tensor:
        signs = self._odd(n, source, piece, tensor).view(torch.int8).mul_(-2).add_(1)
        if not sizes:
            return signs
        seed = self.seed + 0x85EBCA6B * (source + 1) + 0xC2B2AE35 * (self.trial + 1) + piece
        return _sizes(_random_bytes(n, seed, tensor.device), torch.float32).mul_(signs)

    def _row_bits(self, n: int, piece: int, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Each element's row number, 1 to trials - 1, as planes of bits."""
        key = (tuple(tensor.shape), piece)
        if key in self._planes:
            return self._planes[key]
        row = _rows(tensor.shape, piece * _PIECE, n, self.trials - 1, tensor.device)
        planes = [(row >> b) & 1 for b in range(self.trials.bit_length() - 1)]
        if n <= _PLANES_KEPT:
            if len(self._planes) > 16:
                self._planes.clear()
            self._planes[key] = planes
        return planes


def _sizes(drawn: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """From 0 to about sqrt(3), of mean square 1."""
    return drawn.to(dtype).mul_(_LARGEST / 255)


@functools.lru_cache(maxsize=8)
def _pool_of_sizes(seed: int, trial: int, device) -> torch.Tensor:
    return _sizes(_random_bytes(_POOL, seed + 0xC2B2AE35 * (trial + 1), device), torch.float64)


@functools.lru_cache(maxsize=2)
def _pool(seed: int, device) -> torch.Tensor:
    return 1.0 - 2.0 * (_random_bytes(_POOL, seed, device) & 1).to(torch.float64)


def _rows(shape, begin: int, count: int, rows: int, device) -> torch.Tensor:
    """Numbers from 1 to `rows` for `count` elements in row-major order, as uint8: the first few neighbours in
    any dimension have different ones. A sum over two or three elements would else meet two of one row in every
    fourteenth case, with one sign, and their difference would look insensitive."""
    def weight(axis):  # no multiple of 3 or 7
        return 1 + ((len(shape) - axis - 1) & 1)

    def extended(inner, axis, size):
        step = torch.arange(size, device=device).mul_(weight(axis)).remainder_(rows)
        return (step.to(torch.uint8).unsqueeze(1) + inner).remainder_(rows).view(-1)

    inner, axis = torch.zeros(1, dtype=torch.uint8, device=device), len(shape)
    while axis > 0 and inner.numel() * shape[axis - 1] <= _BLOCK_OF_ROWS:
        axis -= 1
        inner = extended(inner, axis, shape[axis])
    if axis == 1:  # along the first dimension they repeat
        axis = 0
        inner = extended(inner, 0, rows * max(1, _BLOCK_OF_ROWS // (rows * inner.numel())))
    size = max(1, inner.numel())
    rest = torch.arange(begin // size, -(-(begin + count) // size), device=device)
    outer = torch.zeros_like(rest)
    for k in reversed(range(axis)):
        outer.add_(rest % shape[k], alpha=weight(k))
        rest = rest // shape[k]
    whole = outer.remainder_(rows).to(torch.uint8).unsqueeze(1) + inner
    return whole.remainder_(rows).add_(1).view(-1)[begin % size : begin % size + count]


def _random_bytes(n: int, seed: int, device) -> torch.Tensor:
    generator = torch.Generator(device=device).manual_seed(seed & 0x7FFFFFFFFFFFFFFF)
    words = torch.empty((n + 7) // 8, dtype=torch.int64, device=device)
    # From the lowest number on: without it the 63 bits of a number that is not negative.
    return words.random_(-(1 << 63), None, generator=generator).view(torch.uint8)[:n]


_POLYNOMIAL = {2: 0b11, 4: 0b111, 8: 0b1011}


def _mask(source: int, trial: int, trials: int) -> int:
    return _mask_of(source % max(1, trials - 1), trial, trials)


@functools.lru_cache(maxsize=256)
def _mask_of(source: int, trial: int, trials: int) -> int:
    """The bits of an element's row whose parity is its sign. Another source multiplies the row by
    another power of a generator of GF(trials): all sources within trials - 1 get different rows."""
    mask = 0
    for bit in range(trials.bit_length() - 1):
        row = 1 << bit
        for _ in range(source % max(1, trials - 1)):
            row <<= 1
            if row & trials:
                row ^= _POLYNOMIAL[trials]
        mask |= ((row & trial).bit_count() & 1) << bit
    return mask
