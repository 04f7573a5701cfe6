"""A runner for test_clock.py: the package's own timed loop around an honest or hostile forward."""

import os
import time

import torch

from fiel_worker.control import DEVICE_NS, DONE, HOST_NS, ControlPage
from fiel_worker.runner.timed import TimedLoop, open_slots
from fiel_worker.window import Window

WORK_S = 0.08


class Candidate:
    """`forward` of each behaviour; the task is relu."""

    def __init__(self):
        self.calls, self.first_answer, self.page = 0, None, -1

    def honest(self, inputs):
        return [torch.relu(inputs[0])]

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

    def _measure(self, first, calls):
        super()._measure(first, calls)
        return 1.0, 1.0


class EarlyDone(TimedLoop):
    """Says `done` at once and does the work afterwards."""

    def _answer(self, turn):
        self.page.reals[DEVICE_NS] = self.page.reals[HOST_NS] = 1000.0
        self.page.words[DONE] = turn
        super()._answer(turn)


class Mapped:
    def __init__(self, windows):
        self.window = windows.get


LOOPS = {"short_claims": (ShortClaims, "slow"), "early_done": (EarlyDone, "slow")}


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
