"""How much of the device is in use while a runner makes one call, seen from outside its process.

The judge starts the watch, lets the runner call, and stops it: raw cudaMalloc counts, and nothing that
a candidate says does. An allocation shorter than the distance of two looks may be missed.
"""

import threading

import torch

from ..channel import Context, Fault

_PAUSE_S = 50e-6


class Watch:
    def __init__(self, device: str):
        self._device, self._end = device, threading.Event()
        self.before = self.peak = self.used()
        self.looks = 0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def used(self) -> int:
        free, total = torch.cuda.mem_get_info(self._device)
        return total - free

    def _look(self) -> None:
        while not self._end.wait(_PAUSE_S):
            self.peak = max(self.peak, self.used())
            self.looks += 1

    def stop(self) -> dict:
        self._end.set()
        self._thread.join()
        after = self.used()
        return {"before": self.before, "peak": max(self.peak, after), "after": after,
                "looks": self.looks}


class MemoryWatch:
    """A mixin of Oracle."""

    _watch: Watch | None = None

    def op_watch_memory(self, message: dict, context: Context) -> dict:
        if self.device == "cpu":
            return {"before": None, "peak": None, "after": None, "looks": 0}
        if message.get("start"):
            if self._watch is None:
                self._watch = Watch(self.device)
            return {}
        watch, self._watch = self._watch, None
        if watch is None:
            raise Fault("worker", "no memory is watched")
        return watch.stop()
