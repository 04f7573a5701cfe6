"""The rules that the judge sends: src/judge/protocols/protocol.h holds them, with their sources."""

import dataclasses

import torch

HALVES = (torch.float16, torch.bfloat16)


@dataclasses.dataclass(frozen=True)
class Tolerance:
    atol: float
    rtol: float


@dataclasses.dataclass(frozen=True)
class Rules:
    name: str
    trials: int
    seeding: str  # repeated, derived, unseeded
    seed: int
    hidden_scales: list
    fp32: Tolerance
    half: Tolerance
    relative_to: str  # reference, candidate
    reference_first: bool
    clones_inputs: bool
    casts_inputs: bool
    shares_namespace: bool
    any_structure: bool
    checks_dtype: bool
    blocks_functional: bool
    stops_at_first: bool
    weights: str  # same-seed, strict-load, loose-load
    mode: str
    clock: str  # host-unsynchronised, events, profiler
    warmups: int
    discarded: int
    repeats: int
    flushes_l2: bool
    compiled_baseline: bool
    tf32_baseline: bool
    peak_memory: bool

    def tolerance(self, dtype: torch.dtype) -> Tolerance:
        return self.half if dtype in HALVES else self.fp32


def read(table: dict) -> Rules:
    names = {field.name for field in dataclasses.fields(Rules)}
    known = {name: value for name, value in table.items() if name in names}
    tolerances = {name: Tolerance(**known[name]) for name in ("fp32", "half")}
    return Rules(**known | tolerances)
