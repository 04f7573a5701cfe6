"""How the protocols time: from within the candidate's process, on inputs that it has seen before.

On a CPU the host's clock stands in for events and for the profiler; the reply says so.
"""

import contextlib
import time

import torch

from .pair import Pair

L2_ELEMENTS = (32, 1024, 1024)  # int64: 256 MB, more than any second-level cache


def time_pair(pair: Pair, settle, compiled: bool) -> dict:
    """Mean nanoseconds a call of candidate, reference and, where asked for, the compiled reference."""
    rules = pair.rules
    if rules.seeding != "unseeded":
        torch.manual_seed(rules.seed)
    inputs = pair.inputs()
    result = {"clock": clock_words(pair), "compiled_ns": None}
    result["kernel_ns"] = mean_ns(pair, pair.candidate, inputs, settle)
    with tf32(rules.tf32_baseline):
        result["reference_ns"] = mean_ns(pair, pair.reference, inputs, settle)
    if compiled:
        result["compiled_ns"] = mean_ns(pair, torch.compile(pair.reference), inputs, settle)
    return result


def clock_words(pair: Pair) -> str:
    on_gpu = pair.device.startswith("cuda")
    rules = pair.rules
    if rules.clock == "host-unsynchronised":
        return f"host clock, not synchronised, mean of {rules.repeats}"
    instead = "" if on_gpu else " (on a CPU: the host's clock in place of it)"
    what = "CUDA events on the current stream" if rules.clock == "events" else "sum of device times"
    flush = ", L2 filled before each" if rules.flushes_l2 and on_gpu else ""
    return f"{what}{instead}, mean of {rules.repeats}{flush}"


def mean_ns(pair: Pair, module, inputs, settle) -> float:
    rules = pair.rules
    with torch.no_grad():
        for _ in range(rules.warmups):
            module(*inputs)
            if rules.clock != "host-unsynchronised":
                settle()
        if rules.clock == "profiler" and pair.device.startswith("cuda"):
            return profiled(module, inputs, rules.repeats, settle)
        times = [one_call(pair, module, inputs, settle)
                 for _ in range(rules.repeats + rules.discarded)]
    kept = times[rules.discarded:]
    return sum(kept) / len(kept)


def one_call(pair: Pair, module, inputs, settle) -> float:
    if pair.rules.clock == "host-unsynchronised":
        begin = time.perf_counter()
        module(*inputs)
        return (time.perf_counter() - begin) * 1e9
    settle()
    if not pair.device.startswith("cuda"):
        begin = time.perf_counter()
        module(*inputs)
        return (time.perf_counter() - begin) * 1e9
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if pair.rules.flushes_l2:
        torch.empty(L2_ELEMENTS, dtype=torch.int64, device=pair.device).fill_(42)
    begin.record()
    module(*inputs)
    end.record()
    settle()
    return begin.elapsed_time(end) * 1e6


def profiled(module, inputs, repeats: int, settle) -> float:
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        settle()
        for _ in range(repeats):
            module(*inputs)
        settle()
    total = sum(e.device_time for e in seen.events() if e.device_type.name == "CUDA")
    return total * 1e3 / repeats


@contextlib.contextmanager
def tf32(active: bool):
    """float32_matmul_precision 'high' for the reference alone."""
    before = torch.get_float32_matmul_precision()
    if active:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def peak_bytes(pair: Pair, module) -> int | None:
    """Of PyTorch's allocator in one forward; raw cudaMalloc is unseen, as in the original."""
    if not pair.device.startswith("cuda"):
        return None
    inputs = pair.inputs()
    torch.cuda.reset_peak_memory_stats(pair.device)
    with torch.no_grad():
        module(*inputs)
    torch.cuda.synchronize(pair.device)
    return torch.cuda.max_memory_allocated(pair.device)
