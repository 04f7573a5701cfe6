"""Giving a candidate the reference's parameters and buffers.

By state_dict name where names and shapes agree; then by shape, where the candidate names them
otherwise; what is left keeps what the constructor drew from the task's seed. Nothing is guessed
silently: every leaf is in the report, with how it was matched or the two shapes that did not.
"""

import dataclasses

import torch

from .. import values
from .module import Loaded, named_attributes, named_state


@dataclasses.dataclass
class Pair:
    leaf: dict  # the reference's: name, kind, dtype, shape
    target: str  # the candidate's name
    how: str  # name | shape | order


def match(module: Loaded, leaves: list[dict]) -> list[Pair]:
    state = dict(named_state(module.network))
    attributes = dict(named_attributes(module.network))
    pairs, left = [], []
    for leaf in leaves:
        own = state.get(leaf["name"], attributes.get(leaf["name"]))
        if own is not None and list(own.shape) == leaf["shape"]:
            pairs.append(Pair(leaf, leaf["name"], "name"))
        else:
            left.append(leaf)
    taken = {pair.target for pair in pairs}
    free = {name: tensor for name, tensor in state.items() if name not in taken}
    named = {leaf["name"] for leaf in leaves}
    # A leaf of the same name and another shape is a statement about that leaf, not about others.
    free = {name: tensor for name, tensor in free.items() if name not in named}
    return pairs + by_shape(left, free)


def by_shape(leaves: list[dict], free: dict[str, torch.Tensor]) -> list[Pair]:
    """Groups of one kind and shape: by last name, then alone, then in order where the counts agree."""
    pairs = []
    for key in dict.fromkeys(_key_of_leaf(leaf) for leaf in leaves):
        group = [leaf for leaf in leaves if _key_of_leaf(leaf) == key]
        names = [name for name, tensor in free.items() if _key_of_tensor(tensor) == key]
        for leaf in list(group):
            alike = [name for name in names if _last(name) == _last(leaf["name"])]
            rivals = [other for other in group if _last(other["name"]) == _last(leaf["name"])]
            if len(alike) == 1 and len(rivals) == 1:
                pairs.append(Pair(leaf, alike[0], "shape"))
                group.remove(leaf)
                names.remove(alike[0])
        if len(group) == len(names):
            how = "shape" if len(group) == 1 else "order"
            pairs += [Pair(leaf, name, how) for leaf, name in zip(group, names)]
    return pairs


def _key_of_leaf(leaf: dict):
    return leaf.get("kind", "parameter"), tuple(leaf["shape"])


def _key_of_tensor(tensor: torch.Tensor):
    kind = "parameter" if isinstance(tensor, torch.nn.Parameter) else "buffer"
    return kind, tuple(tensor.shape)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def copy(module: Loaded, pairs: list[Pair], source) -> None:
    """Into the same storage, so that what a candidate keeps of it sees the new values."""
    tensors = module.tensors()
    with torch.no_grad():
        for pair in pairs:
            tensors[pair.target].copy_(source(pair.leaf))


def report(module: Loaded, leaves: list[dict], pairs: list[Pair]) -> dict:
    state = dict(named_state(module.network))
    matched = {pair.leaf["name"] for pair in pairs}
    targets = {pair.target for pair in pairs}
    extra = [name for name in state if name not in targets]
    unmatched = [_unmatched(leaf, module, extra) for leaf in leaves if leaf["name"] not in matched]
    how = "state_dict" if all(pair.how == "name" for pair in pairs) else "by_shape"
    return {
        "copied": [pair.leaf["name"] for pair in pairs],
        "renamed": [[p.leaf["name"], p.target, p.how] for p in pairs if p.how != "name"],
        "ambiguous": [pair.leaf["name"] for pair in pairs if pair.how == "order"],
        "unmatched": unmatched,
        "extra": extra,
        "how": "seed_replay" if unmatched else how,
    }


def _unmatched(leaf: dict, module: Loaded, extra: list[str]) -> dict:
    """With the candidate's shape where it has the name, or one tensor of as many elements."""
    tensors = module.tensors()
    count = torch.Size(leaf["shape"]).numel()
    names = [n for n in tensors if n == leaf["name"]]
    names = names or [n for n in extra if tensors[n].numel() == count]
    candidate = tensors[names[0]] if len(names) == 1 else None
    return {
        "name": leaf["name"],
        "kind": leaf.get("kind", "parameter"),
        "shape": leaf["shape"],
        "candidate_name": names[0] if candidate is not None else None,
        "candidate_shape": None if candidate is None else list(candidate.shape),
    }


def give(module: Loaded, leaves: list[dict], window) -> dict:
    """weights: matches once, copies each time."""
    if module.pairs is None:
        module.pairs = match(module, leaves)
    copy(module, module.pairs, lambda leaf: values.view(window, named(leaves)[leaf["name"]]))
    return report(module, leaves, module.pairs)


def named(leaves: list[dict]) -> dict[str, dict]:
    return {leaf["name"]: leaf for leaf in leaves}
