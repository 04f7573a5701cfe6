"""A case in windows: inputs between guard bands, poison where outputs will be."""

import dataclasses

import torch

from ..channel import Fault
from ..values import DTYPES, GUARD_BYTES, align, describe, extent_bytes, flatten, layout, rebuild, view
from ..window import Window
from .slices import bits, first_difference, unravel

_SLACK_BYTES = 64 << 10  # an answer in other strides is a little larger
_PIECE_BYTES = 64 << 20


@dataclasses.dataclass
class Placement:
    inputs_window: Window
    outputs_window: Window | None
    tree: dict
    inputs: list[dict]  # leaves with offsets
    begin: int
    end: int
    region: dict  # {offset, bytes}
    poison: int


def place(inputs, output_leaves: list[dict], inputs_window: Window, outputs_window, shift: int,
          poison: int) -> Placement:
    tree, tensors = flatten(inputs)
    leaves = [describe(path, t) for path, t in tensors]
    begin = align(max(0, shift))
    end = layout(leaves, begin)
    if end > inputs_window.bytes:
        raise Fault("worker", f"the inputs need {end} bytes, their window has {inputs_window.bytes}")
    inputs_window.flat[begin:end].fill_(poison)
    write(tensors, inputs_window, leaves)
    region = {"offset": begin, "bytes": region_bytes(output_leaves)}
    if outputs_window is not None:
        if begin + region["bytes"] > outputs_window.bytes:
            wanted = begin + region["bytes"]
            raise Fault("worker", f"the outputs need {wanted} bytes, their window has {outputs_window.bytes}")
        outputs_window.flat[begin : begin + region["bytes"]].fill_(poison)
    return Placement(inputs_window, outputs_window, tree, leaves, begin, end, region, poison)


def write(tensors: list, window: Window, leaves: list[dict]) -> None:
    for (_, tensor), leaf in zip(tensors, leaves):
        view(window, leaf).copy_(tensor)


def region_bytes(output_leaves: list[dict]) -> int:
    leaves = [dict(leaf) for leaf in output_leaves]
    packed = layout(leaves)
    return align(packed + _SLACK_BYTES)


def modified(placement: Placement, inputs) -> list[dict]:
    """Inputs whose bits are no longer those of the private copy."""
    found = []
    for (path, own), leaf in zip(flatten(inputs)[1], placement.inputs):
        now = view(placement.inputs_window, leaf)
        at = first_difference(now, own)
        if at >= 0:
            index = tuple(unravel(at, own.shape))
            found.append({"path": path, "element": at, "was": _number(own[index]), "is": _number(now[index])})
    return found


def broken_guards(placement: Placement, outputs: list[dict] | None) -> list[dict]:
    """Bytes beside the tensors that are no longer poison: of the inputs' window, and of the region
    of the outputs where `outputs` says what lies in it."""
    found = _broken(placement.inputs_window, placement.begin, placement.end, placement.inputs,
                    placement.poison)
    if placement.outputs_window is not None and outputs is not None:
        begin = placement.region["offset"]
        found += _broken(placement.outputs_window, begin, begin + placement.region["bytes"], outputs,
                         placement.poison)
    return found


def _broken(window: Window, begin: int, end: int, leaves: list[dict], poison: int) -> list[dict]:
    found, at, before = [], begin, None
    spans = []
    for leaf in leaves:
        size = extent_bytes(leaf["shape"], leaf["stride"], DTYPES[leaf["dtype"]])
        spans.append((leaf["offset"], leaf["offset"] + size, leaf["path"]))
    for first, last, path in sorted(spans) + [(end, end, None)]:
        gap = _first_other(window, at, min(first, end), poison)
        if gap is not None:
            near_before = before is not None and (path is None or gap - at < first - gap)
            name, side = (before, "after") if near_before else (path, "before")
            found.append({"path": name or "", "side": side,
                          "byte": gap - at if near_before else gap - first})
        at, before = max(at, last), path if path is not None else before
    return found


def _first_other(window: Window, begin: int, end: int, poison: int):
    for at in range(begin, end, _PIECE_BYTES):
        piece = window.flat[at : min(end, at + _PIECE_BYTES)]
        other = piece != poison
        if bool(other.any()):
            return at + int(other.to(torch.uint8).argmax())
    return None


def unwritten(actual: torch.Tensor, poison: int, wrong) -> int:
    """Elements that still are poison and should not be: `wrong(index)` says where a piece of the answer
    is. Of 10^8 numbers about 0.05 one has the bits of a finite poison, and is right."""
    from .slices import pieces_of, row_major_pieces

    count = 0
    pattern = int.from_bytes(bytes([poison]) * actual.dtype.itemsize, "little", signed=False)
    for index, _ in row_major_pieces(actual.shape, pieces_of(actual)):
        raw = bits(actual[index])
        width = 8 * raw.dtype.itemsize
        signed = pattern - (1 << width) if raw.dtype != torch.uint8 and pattern >> (width - 1) else pattern
        still = raw == signed
        if bool(still.any()):
            count += int((still & wrong(index)).sum())
    return count


def _number(t: torch.Tensor):
    value = t.item()
    return str(value) if isinstance(value, complex) else value
