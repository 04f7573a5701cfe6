"""One timed call of one runner, and what is remembered of that runner between calls.

    times = runner.call(first, calls, timeout_ns, prepare, reveal)
    times = runner.call_held(first, calls, timeout_ns, hold_ns, prepare, reveal)    # or None
"""

import gc
import hashlib
import time

import torch

from .. import control
from ..control import (
    ATTEND, ATTENDING, CALLS, DEVICE_NS, DONE, GO, HELD, HOLDS, HOST_NS, LEAD_NS, LEAVE, QUEUED, READY,
    RELEASE, REPORTED, SLOT, STATUS, STATUS_DONE,
)
from .decoys import Decoys
from .slots import SlotSet
from .snapshot import Snapshot

_ATTENTION_NS = 5_000_000  # a runner that does not answer `attend` is started all the same
_REPORT_NS = 1_000_000_000  # for a runner to read its events after `done`; no claim else


class TimedRunner:
    """The oracle's end of one runner's loop."""

    def __init__(self, page: control.ControlPage, slots: SlotSet, trusted: bool, device: str,
                 gauge: bool = False):
        """`gauge`: a runner of ours that computes nothing, for the time that the clock itself takes.
        Its outputs are looked at like everybody's and never judged."""
        self.page, self.slots, self.trusted, self.gauge = page, slots, trusted, gauge
        self.snapshot, self.decoys = Snapshot(slots, device), Decoys(slots, device)
        self.sequence, self.calls_made, self.verified = 0, 0, 0
        self.ended: str | None = None
        self.watched: list = []  # (call, sample, look): outputs that may still change

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

    def holds(self) -> bool:
        """Whether the runner says that its device can wait for a word of the control page."""
        return self.page.words[HOLDS] == 1

    def call(self, first: int, calls: int, timeout_ns: int, prepare, reveal) -> dict:
        """Lets the runner answer; the times, in ns. `prepare` writes inputs that `reveal` makes the
        right ones, flushes and leaves the device idle."""
        self._announce(first, calls, held=0)
        prepare()
        self._await_attention()
        with _NoCollection():
            begun = time.perf_counter_ns()
            reveal()
            synchronize(self.snapshot.device)
            self.page.words[GO] = self.sequence
            return self._finish(begun, calls, timeout_ns)

    def call_held(self, first, calls, timeout_ns, hold_ns, prepare, reveal) -> dict | None:
        """The same with all calls queued on a held device before the clock starts. None where the
        runner had not queued them after `hold_ns`: its calls then ran unheld and were not timed."""
        self._announce(first, calls, held=1)
        self._await_attention()
        words = self.page.words
        words[GO] = self.sequence
        queued = self.page.wait(
            QUEUED, self.sequence, time.perf_counter_ns() + hold_ns, self._alive
        )
        prepare()
        with _NoCollection():
            begun = time.perf_counter_ns()
            reveal()
            synchronize(self.snapshot.device)
            words[RELEASE] = self.sequence
            times = self._finish(begun, calls, timeout_ns)
        return times if queued else None

    def _announce(self, first: int, calls: int, held: int) -> None:
        words = self.page.words
        self.sequence += 1
        words[CALLS], words[SLOT], words[HELD] = calls, first, held
        words[ATTEND] = self.sequence

    def _await_attention(self) -> None:
        deadline = time.perf_counter_ns() + _ATTENTION_NS
        self.page.wait(ATTENDING, self.sequence, deadline, self._alive)

    def _finish(self, begun: int, calls: int, timeout_ns: int) -> dict:
        done = self.page.wait(DONE, self.sequence, begun + timeout_ns, self._alive)
        said = time.perf_counter_ns()
        if done:
            self.snapshot.take()
            synchronize(self.snapshot.device)
        seen = time.perf_counter_ns()
        if done:
            self.snapshot.look_again()
            synchronize(self.snapshot.device)
        idle = time.perf_counter_ns()
        self._judge_end(done, timeout_ns)
        self.calls_made += calls
        reported = done and self._await_report()
        return {
            "wall_ns": seen - begun, "done_ns": said - begun, "tail_ns": idle - seen,
            "device_ns": self.page.claim_ns(DEVICE_NS) if reported else 0.0,
            "host_ns": self.page.claim_ns(HOST_NS) if reported else 0.0,
            "lead_ns": self.page.claim_ns(LEAD_NS) if reported else 0.0,
        }

    def _await_report(self) -> bool:
        deadline = time.perf_counter_ns() + _REPORT_NS
        return self.page.wait(REPORTED, self.sequence, deadline, self._alive)

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
        self.page.words[RELEASE] = self.sequence
        self.page.close()


class _NoCollection:
    """No garbage collection in a timed span."""

    def __enter__(self):
        self._was = gc.isenabled()
        gc.disable()

    def __exit__(self, *_):
        if self._was:
            gc.enable()


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
