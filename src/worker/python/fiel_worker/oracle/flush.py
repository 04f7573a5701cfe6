"""Empties the cache before a timed call: twice the L2's size is written over it.

    flush = CacheFlush("cuda:0"); flush(); flush.span_ns()

Lines that a candidate made persistent are released first. The flush is timed too: when it takes long,
someone else's work was on the device.
"""

import ctypes
import time

import torch

_CPU_BYTES = 4 << 20


class CacheFlush:
    def __init__(self, device: str):
        self._cuda, self._reset = device.startswith("cuda"), None
        size = _CPU_BYTES
        if self._cuda:
            size = 2 * torch.cuda.get_device_properties(device).L2_cache_size
            try:
                self._reset = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache
            except (OSError, AttributeError):
                pass
            event = torch.cuda.Event
            self._begin, self._end = event(enable_timing=True), event(enable_timing=True)
        self.bytes, self._ns = size, 0.0
        self._buffer = torch.zeros(size, dtype=torch.uint8, device=device)

    def __call__(self) -> None:
        """Flushes and waits for the device."""
        if not self._cuda:
            begun = time.perf_counter_ns()
            self._buffer.zero_()
            self._ns = float(time.perf_counter_ns() - begun)
            return
        if self._reset is not None:
            self._reset()
        self._begin.record()
        self._buffer.zero_()
        self._end.record()
        torch.cuda.synchronize()
        self._ns = self._begin.elapsed_time(self._end) * 1e6

    def span_ns(self) -> float:
        return self._ns
