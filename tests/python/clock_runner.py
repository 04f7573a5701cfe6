"""A runner for test_clock.py: the package's own timed loop around an honest or hostile forward."""

import multiprocessing
import os
import time

import torch

from fiel_worker.control import (
    CALLS, DEVICE_NS, DONE, HOST_NS, QUEUED, RELEASE, REPORTED, SLOT, ControlPage,
)
from fiel_worker.runner import timed
from fiel_worker.runner.timed import TimedLoop, open_slots
from fiel_worker.window import Window

WORK_S = 0.08
_MEETING_S = 60


class Meeting:
    """Where a runner acts at one moment of the oracle, however long either waits for a processor.
    The runner: comes(), then `with meeting: …`. The oracle: meets(), at the moment."""

    def __init__(self):
        fork = multiprocessing.get_context("fork")
        self._comes, self._begins, self._ends = (fork.Semaphore(0) for _ in range(3))

    def comes(self) -> None:
        self._comes.release()

    def __enter__(self):
        if not self._begins.acquire(timeout=_MEETING_S):
            raise TimeoutError("the oracle did not come")

    def __exit__(self, *_):
        self._ends.release()

    def meets(self) -> bool:
        """Lets a runner that is coming act, to its end."""
        if not self._comes.acquire(block=False):
            return False
        self._begins.release()
        return self._ends.acquire(timeout=_MEETING_S)


meeting: Meeting | None = None  # of a test; runners inherit it


class Candidate:
    """`forward` of each behaviour; the task is relu."""

    def __init__(self):
        self.calls, self.first_answer, self.page = 0, None, -1

    def honest(self, inputs):
        return [torch.relu(inputs[0])]

    def zeros(self, inputs):
        return [torch.zeros_like(inputs[0])]

    def slow(self, inputs):
        time.sleep(WORK_S)
        return self.honest(inputs)

    def memo(self, inputs):
        if self.first_answer is None:
            self.first_answer = self.honest(inputs)
        return self.first_answer

    def right_ten_times(self, inputs):
        self.calls += 1
        answer = self.honest(inputs)
        if self.calls > 10:
            answer[0][0, 0] += 1
        return answer

    def one_buffer(self, inputs):
        """As a CUDA graph does: each answer overwrites the one before."""
        if self.first_answer is None:
            self.first_answer = self.honest(inputs)
        self.first_answer[0].copy_(torch.relu(inputs[0]))
        return self.first_answer

    def dies(self, inputs):
        self.calls += 1
        if self.calls == 5:
            os._exit(3)
        return self.honest(inputs)

    def hangs(self, inputs):
        self.calls += 1
        if self.calls == 5:
            time.sleep(600)
        return self.honest(inputs)

    def raises(self, inputs):
        raise SystemExit("no more")

    def other_shape(self, inputs):
        return [torch.relu(inputs[0])[:-1]]

    def forged_timers(self, inputs):
        time.perf_counter_ns = lambda: 7
        return self.slow(inputs)

    def shrinks_its_page(self, inputs):
        try:
            os.ftruncate(self.page, 0)
        except OSError:
            pass
        return self.honest(inputs)


class ShortClaims(TimedLoop):
    """Does the work, claims a nanosecond for it."""

    def _device_ns(self):
        super()._device_ns()
        return 1.0


class EarlyDone(TimedLoop):
    """Says `done` at once and does the work once that was looked at."""

    def _answer(self, turn):
        meeting.comes()
        self.page.reals[DEVICE_NS] = self.page.reals[HOST_NS] = 1000.0
        self.page.words[DONE] = self.page.words[REPORTED] = turn
        with meeting:  # the oracle has looked
            super()._answer(turn)


class MemsetFirst(EarlyDone):
    """Puts something over the poison before it says `done` too early."""

    def _answer(self, turn):
        for i in range(self.page.words[CALLS]):
            for output in self.slots[(self.page.words[SLOT] + i) % len(self.slots)].outputs:
                output.zero_()
        super()._answer(turn)


class LeavesSome(TimedLoop):
    """Answers the first three quarters of each output."""

    def _queue(self, turn, first, calls, held):
        slots = [self.slots[(first + i) % len(self.slots)] for i in range(calls)]
        kept = [[o[len(o) * 3 // 4:].clone() for o in slot.outputs] for slot in slots]
        host_ns = super()._queue(turn, first, calls, held)
        for slot, rests in zip(slots, kept):
            for output, rest in zip(slot.outputs, rests):
                output[len(output) * 3 // 4:] = rest
        return host_ns


class HostHold:
    """Stands for a device that can wait: what Queued launches runs once the oracle releases it."""

    def begin(self, turn):
        self.turn = turn

    def close(self):
        pass


class Queued(TimedLoop):
    """A device with a queue: calls are launched first and run when the hold is released."""

    waiting: list = []
    most_queued = 10**9

    def run(self):
        timed.hold_for = lambda page, device: HostHold()
        return super().run()

    def _queue(self, turn, first, calls, held):
        if not held:
            return super()._queue(turn, first, calls, held)
        if calls > self.most_queued:
            self.released(turn)
        self.waiting = [(turn, first, calls)]
        self.page.words[QUEUED] = turn
        return 1.0

    def released(self, turn):
        while self.page.words[RELEASE] < turn:
            time.sleep(0.0001)

    def _wait(self):
        for turn, first, calls in self.waiting:
            self.released(turn)
            self.waiting = []
            super()._queue(turn, first, calls, False)


class ShortQueue(Queued):
    """Two calls fit into its queue."""

    most_queued = 2


class Synchronises(Queued):
    """Reads a result on the host: cannot queue at all."""

    most_queued = 0


class RunsAhead(Queued):
    """Computes what it finds in its inputs while it is held."""

    def _queue(self, turn, first, calls, held):
        host_ns = TimedLoop._queue(self, turn, first, calls, False)
        return host_ns


class Peeks(Queued):
    """Held, it waits until its inputs are there, and computes before the release."""

    def _queue(self, turn, first, calls, held):
        if not held:
            return super()._queue(turn, first, calls, held)
        slots = [self.slots[(first + i) % len(self.slots)] for i in range(calls)]
        meeting.comes()
        self.page.words[QUEUED] = turn
        with meeting:  # they are all written, and the oracle flushes its cache
            results = [self.forward(slot.inputs) for slot in slots]
        self.released(turn)
        for result, slot in zip(results, slots):
            timed.copy_out(result, slot.outputs, False)
        return 1.0


class PeeksLater(Peeks):
    """The same, once it has been tried."""

    held_calls = 0

    def _queue(self, turn, first, calls, held):
        self.held_calls += held
        loop = Peeks if self.held_calls > 4 else Queued
        return loop._queue(self, turn, first, calls, held)


class NeverReports(TimedLoop):
    """Says `done` and claims no time."""

    def _device_ns(self):
        time.sleep(3)
        return super()._device_ns()


class Mapped:
    def __init__(self, windows):
        self.window = windows.get


LOOPS = {
    "short_claims": (ShortClaims, "slow"), "early_done": (EarlyDone, "honest"),
    "memset_first": (MemsetFirst, "honest"), "leaves_some": (LeavesSome, "honest"),
    "queued": (Queued, "honest"), "queued_slow": (Queued, "slow"),
    "queued_zeros": (Queued, "zeros"), "queued_one_buffer": (Queued, "one_buffer"), "short_queue": (ShortQueue, "honest"),
    "synchronises": (Synchronises, "honest"), "runs_ahead": (RunsAhead, "honest"),
    "never_reports": (NeverReports, "honest"), "peeks": (Peeks, "honest"), "peeks_later": (PeeksLater, "honest"),
}


def run(behaviour: str, page: int, inputs: tuple, outputs: tuple, layout: list) -> None:
    """In a process of its own. Windows are (bytes, descriptor)."""
    if behaviour == "never_enters":
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the raising ones have to say
    windows = Mapped({1: Window.adopt("cpu", *inputs), 2: Window.adopt("cpu", *outputs)})
    slots = open_slots(windows, {"inputs_window": 1, "outputs_window": 2, "slots": layout})
    loop, forward = LOOPS.get(behaviour, (TimedLoop, behaviour))
    candidate = Candidate()
    candidate.page = page
    loop(ControlPage(page), getattr(candidate, forward), slots, "cpu").run()
