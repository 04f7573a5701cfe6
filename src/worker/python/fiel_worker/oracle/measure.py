"""What this machine can do: the figures that times are compared with (`fiel doctor --calibrate`).

Medians of a few runs each, about ten seconds on a GPU, most of which a second process takes to start:
it answers empty calls, so that the gap between wall and device time is measured as it will be met.
"""

import statistics
import time

import torch

from .. import nvml, numerics
from ..channel import Fault
from ..runner.spans import span_for
from ..window import give_back
from .flush import CacheFlush
from .partner import Partner
from .timed_call import synchronize

_RUNS = 9
_GAP_CALLS = 60
_LEAST_COPY = 512 << 20
_DTYPES = {
    "fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
    "fp64": torch.float64,
}


class MeasureOperations:
    """Needs of the oracle: `device`."""

    def op_measure(self, message, context):
        partner = Partner(self.device)
        try:
            notes: list[str] = []
            figures = {
                "copy_bytes_per_s": copy_bandwidth(self.device, notes),
                "flops": {name: peak(self.device, name) for name in _DTYPES},
                "policies": policies(self.device, notes),
            } | overheads(self.device) | clocks(self.device, notes)
            figures |= gap(partner, notes)
            return figures | {"notes": notes}
        finally:
            numerics.apply("fp32")
            partner.close()


def median_ns(device: str, run, runs: int = _RUNS) -> float:
    span = span_for(device)
    times = []
    for i in range(runs + 2):
        span.begin()
        run()
        span.end()
        elapsed = span.finish()
        if i >= 2:  # the first ones load kernels and raise clocks
            times.append(elapsed)
    return statistics.median(times)


def copy_bandwidth(device: str, notes: list[str]) -> float:
    """Bytes read and written a second by a large copy on the device. A copy of 64 MB reaches a tenth less than
    one of a gigabyte, and a floor made of it would call honest times impossible: 0 where there is no room."""
    size = 16 << 20
    if device.startswith("cuda"):
        give_back(device)
        free = torch.cuda.mem_get_info(device)[0]
        size = min(2 << 30, free // 4)
        if size < _LEAST_COPY:
            notes.append(f"no bandwidth of copies: {free >> 20} MiB of the device are free")
            return 0.0
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / median_ns(device, lambda: target.copy_(source)) * 1e9


def peak(device: str, name: str) -> float:
    """Floating-point operations a second of the library's matrix product."""
    on_gpu = device.startswith("cuda")
    if not on_gpu and name not in ("fp32", "fp64"):
        return 0.0
    numerics.apply("tf32" if name == "tf32" else "default")
    size = (4096 if name in ("fp32", "fp64") else 8192) if on_gpu else 256
    a, b = (torch.randn(size, size, device=device, dtype=_DTYPES[name]) for _ in range(2))
    out = torch.empty_like(a)
    return 2 * size**3 / median_ns(device, lambda: torch.mm(a, b, out=out)) * 1e9


def policies(device: str, notes: list[str]) -> dict:
    """Errors of each policy, where PyTorch keeps to it."""
    found = {}
    for policy in ("fp32", "default", "tf32"):
        try:
            found[policy] = numerics.measure(policy, device)
        except Fault as fault:
            found[policy] = None
            notes.append(fault.message)
    return found


def overheads(device: str) -> dict:
    """Times of next to nothing: two events, one small kernel between them, a launch on the host."""
    small = torch.zeros(256, device=device)
    busy = torch.zeros(256 << 20 if device.startswith("cuda") else 1 << 10, device=device)
    span = span_for(device)

    def queued(run) -> float:
        """Behind work that keeps the device busy while the host launches."""
        times = []
        for _ in range(30):
            busy.zero_()
            span.begin()
            run()
            span.end()
            times.append(span.finish())
        return statistics.median(times)

    count = 500
    synchronize(device)
    begun = time.perf_counter_ns()
    for _ in range(count):
        small.zero_()
    launch = (time.perf_counter_ns() - begun) / count
    synchronize(device)
    return {
        "event_ns": queued(lambda: None), "kernel_ns": queued(small.zero_), "host_launch_ns": launch,
    }


def clocks(device: str, notes: list[str]) -> dict:
    gauge, flush = nvml.Gauge(device), CacheFlush(device)
    for _ in range(3):
        flush()
    if gauge.missing:
        notes.append(gauge.missing)
    return {
        "l2_bytes": flush.bytes // 2, "flush_ns": flush.span_ns(), "clocks": gauge.read(),
        "limits": gauge.limits(),
    }


def gap(partner: Partner, notes: list[str]) -> dict:
    """wall − device of empty calls to another process: two changes of context and the clock."""
    gaps = sorted(partner.gaps(_GAP_CALLS))
    if not gaps:
        notes.append(f"no gap: {partner.runner.ended}")
        return {"gap_ns": 0.0, "gap_low_ns": 0.0, "gap_high_ns": 0.0}
    at = lambda share: gaps[int(share * (len(gaps) - 1))]
    return {"gap_ns": at(0.5), "gap_low_ns": at(0.05), "gap_high_ns": at(0.95)}
