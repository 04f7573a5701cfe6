"""Walking tensors of any size and stride in pieces, with 64-bit positions."""

import dataclasses
import math

import torch

PIECE_ELEMENTS, PIECE_ELEMENTS_GPU = 1 << 18, 1 << 25  # of a CPU: temporaries stay in its cache
_ORDERED = (torch.float64, torch.float32, torch.float16, torch.bfloat16)  # that aminmax takes
SHORTEST_ROW = 16  # shorter rows say too little about scale: the whole output's does


def row_major_pieces(shape, limit: int = PIECE_ELEMENTS):
    """(index, begin): index selects a block that is contiguous in row-major order, begin is the flat
    position of its first element."""
    shape = tuple(shape)
    if math.prod(shape) == 0:
        return
    inner, axis = 1, len(shape)
    while axis > 0 and inner * shape[axis - 1] <= limit:
        axis -= 1
        inner *= shape[axis]
    if axis == 0:
        yield (), 0
        return
    step = max(1, limit // inner)  # along axis - 1, which does not fit whole
    outer = shape[: axis - 1]
    length = shape[axis - 1]
    for k in range(math.prod(outer)):
        prefix = tuple(unravel(k, outer))
        for begin in range(0, length, step):
            yield (*prefix, slice(begin, min(length, begin + step))), (k * length + begin) * inner


def pieces_of(tensor: torch.Tensor) -> int:
    """How many elements to take at once on the tensor's device: a GPU wants fewer, larger pieces."""
    return PIECE_ELEMENTS if tensor.device.type == "cpu" else PIECE_ELEMENTS_GPU


def all_finite(tensor: torch.Tensor) -> bool:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return True
    good = torch.ones((), dtype=torch.bool, device=tensor.device)
    for index, _ in row_major_pieces(tensor.shape, pieces_of(tensor)):
        piece = tensor[index]
        if tensor.dtype in _ORDERED and piece.numel():  # one pass over memory instead of four
            good &= torch.isfinite(torch.stack(torch.aminmax(piece))).all()
        else:
            good &= torch.isfinite(piece).all()
    return bool(good)


def holds_nan(tensor: torch.Tensor) -> bool:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return False
    found = torch.zeros((), dtype=torch.bool, device=tensor.device)
    for index, _ in row_major_pieces(tensor.shape, pieces_of(tensor)):
        found |= torch.isnan(tensor[index]).any()
    return bool(found)


def unravel(flat: int, shape) -> list[int]:
    index = []
    for n in reversed(tuple(shape)):
        index.append(flat % n)
        flat //= n
    return index[::-1]


@dataclasses.dataclass
class Scales:
    """Sizes of a tensor's finite elements, without waiting for the device between its pieces."""

    rows: torch.Tensor | None  # rms of each row, None where rows are short
    rms: float
    largest: float
    all_finite: bool

    @staticmethod
    def of(y: torch.Tensor) -> "Scales":
        return Scales._of_finite(y) or Scales._of_any(y)

    @staticmethod
    def _of_finite(y: torch.Tensor) -> "Scales | None":
        """In two passes over memory; None where an element or a square is not finite."""
        if y.dtype not in _ORDERED or y.numel() == 0:
            return None
        long_rows = y.dim() > 0 and y.shape[-1] >= SHORTEST_ROW
        rows = torch.zeros(y.shape[:-1], dtype=torch.float64, device=y.device) if long_rows else None
        figures = torch.zeros(2, dtype=torch.float64, device=y.device)  # squares, largest
        for index, _ in row_major_pieces(y.shape, pieces_of(y)):
            piece = y[index]
            figures[1] = torch.maximum(figures[1], torch.stack(torch.aminmax(piece)).abs().max().to(torch.float64))
            if rows is None:
                figures[0] += torch.linalg.vector_norm(piece, dtype=torch.float64).square()
            else:
                part = torch.linalg.vector_norm(piece, dim=-1, dtype=torch.float64).square_()
                figures[0] += part.sum()
                rows[index[: rows.dim()]] += part
        total, largest = figures.tolist()
        if not math.isfinite(total + largest):
            return None
        if rows is not None:
            rows = (rows / y.shape[-1]).sqrt_()
        return Scales(rows, math.sqrt(total / y.numel()), largest, True)

    @staticmethod
    def _of_any(y: torch.Tensor) -> "Scales":
        long_rows = y.dim() > 0 and y.shape[-1] >= SHORTEST_ROW
        rows = None
        if long_rows:
            rows = torch.zeros(y.shape[:-1], dtype=torch.float64, device=y.device)
        figures = torch.zeros(3, dtype=torch.float64, device=y.device)  # squares, finite, largest
        for index, _ in row_major_pieces(y.shape, pieces_of(y)):
            piece = y[index].to(torch.float64)
            good = torch.isfinite(piece)
            size = torch.where(good, piece, 0).abs_()
            figures[2] = torch.maximum(figures[2], size.max())
            squares = size.square_()
            figures[1] += good.sum()
            if rows is None:
                figures[0] += squares.sum()
            else:
                part = squares.sum(-1)
                figures[0] += part.sum()
                rows[index[: rows.dim()]] += part
        if rows is not None:
            rows = (rows / y.shape[-1]).sqrt_()
        total, finite, largest = figures.tolist()
        rms = math.sqrt(total / finite) if finite else 0.0
        return Scales(rows, rms, largest, finite == y.numel())


def row_rms(y: torch.Tensor):
    """(rms of each row or None where rows are short, rms of all), over finite elements."""
    scales = Scales.of(y)
    return scales.rows, scales.rms


def first_difference(a: torch.Tensor, b: torch.Tensor) -> int:
    """First flat position where the bits of two tensors of one type and shape differ, or -1."""
    for index, begin in row_major_pieces(a.shape, pieces_of(a)):
        differs = bits(a[index]) != bits(b[index])
        if bool(differs.any()):
            return begin + int(differs.reshape(-1).to(torch.uint8).argmax())
    return -1


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers: NaN equals itself, -0 is not 0."""
    if tensor.is_complex():
        return bits(torch.view_as_real(tensor))
    if tensor.dtype == torch.bool:
        return tensor.view(torch.uint8)
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.view(kinds[tensor.dtype.itemsize])
