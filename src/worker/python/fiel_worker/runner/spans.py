"""Spans of device time around calls: CUDA events, or the host's clock where there is no device.

    span.begin(); …; span.end()      # as often as there are calls
    total_ns = span.finish()         # waits for all streams of the process; wait() does so before
"""

import time

import torch


class EventSpan:
    def __init__(self, device: str):
        self.device, self._pairs, self._used = torch.device(device), [], 0

    def begin(self) -> None:
        if self._used == len(self._pairs):
            event = torch.cuda.Event
            self._pairs.append((event(enable_timing=True), event(enable_timing=True)))
        self._pairs[self._used][0].record()

    def end(self) -> None:
        self._pairs[self._used][1].record()
        self._used += 1

    def wait(self) -> None:
        # The whole device, not a stream: work on side streams that nothing joined must be in before
        # `done`, where the oracle's clock counts it.
        torch.cuda.synchronize(self.device)

    def finish(self) -> float:
        self.wait()
        total = sum(begin.elapsed_time(end) for begin, end in self._pairs[: self._used])
        self._used = 0
        return total * 1e6


class HostSpan:
    def __init__(self):
        self._begun, self._total = 0, 0

    def begin(self) -> None:
        self._begun = time.perf_counter_ns()

    def end(self) -> None:
        self._total += time.perf_counter_ns() - self._begun

    def wait(self) -> None:
        pass

    def finish(self) -> float:
        total, self._total = self._total, 0
        return float(total)


def span_for(device: str):
    return EventSpan(device) if device.startswith("cuda") else HostSpan()
