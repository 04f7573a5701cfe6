"""One timed call of one runner, and what is remembered of that runner between calls."""

import gc
import hashlib
import time

import torch

from .. import control
from ..control import (
    ATTEND, ATTENDING, CALLS, DEVICE_NS, DONE, GO, HOST_NS, LEAVE, READY, SLOT, STATUS, STATUS_DONE,
)
from .slots import SlotSet, Snapshot

_ATTENTION_NS = 5_000_000  # a runner that does not answer `attend` is started all the same


class TimedRunner:
    """The oracle's end of one runner's loop."""

    def __init__(self, page: control.ControlPage, slots: SlotSet, trusted: bool, device: str):
        self.page, self.slots, self.trusted = page, slots, trusted
        self.snapshot = Snapshot(slots, device)
        self.sequence, self.calls_made, self.verified = 0, 0, 0
        self.ended: str | None = None
        self.last_sample: dict | None = None  # until its outputs are known to have stayed

    def enter(self, timeout_ns: int, coming=lambda: True) -> None:
        """Waits until the runner is in its loop, or until coming() says that it will never be."""
        self._alive = None
        deadline = time.perf_counter_ns() + timeout_ns
        while self.page.words[READY] != 1:
            if time.perf_counter_ns() > deadline or not coming():
                self.ended = "the runner did not enter its timed loop in time"
                return
            time.sleep(0.0005)
        self._alive = self.page.runner_lives if self.page.runner_lives() else None

    def call(self, first: int, calls: int, timeout_ns: int, prepare) -> dict:
        """Lets the runner answer; the times, in ns. `prepare` flushes and leaves the device idle."""
        words = self.page.words
        self.sequence += 1
        words[CALLS], words[SLOT] = calls, first
        words[ATTEND] = self.sequence
        prepare()
        self.page.wait(ATTENDING, self.sequence, time.perf_counter_ns() + _ATTENTION_NS, self._alive)
        gc_was = gc.isenabled()
        gc.disable()
        begun = time.perf_counter_ns()
        words[GO] = self.sequence
        done = self.page.wait(DONE, self.sequence, begun + timeout_ns, self._alive)
        said = time.perf_counter_ns()
        if done:
            self.snapshot.take()
            synchronize(self.snapshot.device)
        seen = time.perf_counter_ns()
        self.last_sample = None
        if gc_was:
            gc.enable()
        self._judge_end(done, timeout_ns)
        self.calls_made += calls
        return {
            "wall_ns": seen - begun, "done_ns": said - begun,
            "device_ns": self.page.claim_ns(DEVICE_NS), "host_ns": self.page.claim_ns(HOST_NS),
        }

    def _judge_end(self, done: bool, timeout_ns: int) -> None:
        if not done:
            dead = self._alive is not None and not self._alive()
            self.ended = (
                f"the runner ended in call {self.calls_made + 1}" if dead
                else f"call {self.calls_made + 1} took longer than {timeout_ns // 1_000_000} ms"
            )
        elif self.page.words[STATUS] != STATUS_DONE:
            self.ended = f"call {self.calls_made + 1} raised an error"

    def leave(self) -> None:
        self.page.words[GO] = LEAVE
        self.page.close()


def synchronize(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


class Seeds:
    """Secret numbers from the judge's seed: a function of what they are for, not of an order."""

    def __init__(self, seed: int):
        self._key = int(seed).to_bytes(16, "little", signed=True)

    def of(self, *what) -> int:
        text = "/".join(str(part) for part in what).encode()
        digest = hashlib.blake2b(text, key=self._key, digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1

    def chance(self, share: float, *what) -> bool:
        return self.of("chance", *what) < share * 2**63
