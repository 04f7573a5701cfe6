"""The clock: fresh secret inputs, a cold cache and the oracle's own time for every call.

ClockOperations is mixed into the oracle and needs of it

    device, windows {id: Window}
    case_values(case) -> (inputs, outputs)   described values, leaves without offsets
    draw_inputs(case, seed) -> value         the case's inputs drawn anew, tensors on the device
    verify_outputs(case, inputs, outputs, lowest) -> the fields of a `verify` reply

A clock outlives a request: `time` with its id goes on where the last chunk ended, so that the judge
can stop as soon as it knows enough.
"""

import time

import torch

from .. import nvml
from ..channel import Fault
from ..control import ControlPage
from .flush import CacheFlush
from .fresh import FreshInputs
from .slots import SlotSet
from .timed_call import Seeds, TimedRunner, synchronize

_MAX_FAILURES = 8
_MAX_HOLD_US = 1500  # below a time slice of the GPU (about 2 ms), at whose end it changes context
_ENTRY_TIMEOUT_MS, _CALL_TIMEOUT_MS = 60_000, 10_000


class ClockOperations:
    def op_slots(self, message, context):
        """Lays out slots; without windows only says how large they must be."""
        slots = SlotSet(*self.case_values(message["case"]), int(message["count"]))
        reply = {
            "count": len(slots.layout), "inputs_bytes": slots.inputs_bytes,
            "outputs_bytes": slots.outputs_bytes,
        }
        if "inputs_window" not in message:
            return reply
        slots.open(
            self._clock_window(message["inputs_window"]),
            self._clock_window(message["outputs_window"]),
        )
        known = self.__dict__.setdefault("slot_sets", {})
        number = max(known, default=0) + 1
        known[number] = slots
        return reply | {"slots": number, "layout": slots.layout}

    def op_time(self, message, context):
        clocks = self.__dict__.setdefault("clocks", {})
        if "clock" in message:
            number = message["clock"]
            if number not in clocks:
                raise Fault("worker", "there is no such clock")
        else:
            number = max(clocks, default=0) + 1
            clocks[number] = self._open_clock(message, context)
        stay = False
        try:
            reply = clocks[number].chunk(message, context)
            stay = not message.get("leave", True)
        finally:
            if not stay:  # after an error too: runners must not wait for ever
                clocks.pop(number).leave()
        return reply | {"clock": number}

    def _open_clock(self, message, context) -> "Clock":
        runners = []
        for number, runner in enumerate(message["runners"]):
            slots = self.__dict__.get("slot_sets", {}).pop(runner["slots"], None)
            if slots is None:
                raise Fault("worker", "a runner's slots are not laid out")
            page = ControlPage(context.take(runner.get("control", number)))
            runners.append(TimedRunner(page, slots, bool(runner["trusted"]), self.device))
        return Clock(self, message["case"], runners, message)

    def _clock_window(self, number):
        if number not in self.windows:
            raise Fault("worker", "there is no such window")
        return self.windows[number]


class Clock:
    """Rounds of calls, A B … B A …, of one case."""

    def __init__(self, oracle, case, runners: list[TimedRunner], message: dict):
        self._oracle, self._case, self._runners = oracle, case, runners
        self._device = oracle.device
        self._seeds = Seeds(message["seed"])
        self._cold, self._round, self._hold_us = bool(message.get("cold", True)), 0, 0.0
        self._flush, self._gauge = CacheFlush(self._device), nvml.Gauge(self._device)
        draw = lambda seed: oracle.draw_inputs(case, seed)
        self._fresh = FreshInputs(draw, self._device, self._seeds.of("first"))
        self._generator = torch.Generator(self._device)
        self._generator.manual_seed(self._seeds.of("snapshot"))
        self._slot_count = min(len(r.slots.slots) for r in runners)
        self._timeout_ns = int(message.get("call_timeout_ms", _CALL_TIMEOUT_MS)) * 1_000_000
        for runner in runners:
            runner.enter(int(message.get("entry_timeout_ms", _ENTRY_TIMEOUT_MS)) * 1_000_000)
        for _ in range(int(message.get("warmup", 3))):
            self._one_round(1, {}, None)

    def chunk(self, message: dict, context) -> dict:
        """Rounds until `samples_max` or `budget_ms`, whichever comes first."""
        samples, failures = [], []
        wanted = int(message.get("samples_max", 100))
        calls = max(1, min(int(message.get("calls", 1)), self._slot_count))
        self._hold_us = min(float(message.get("hold_us", 0)), _MAX_HOLD_US)
        plan = self._plan(wanted, float(message.get("verify_share", 0.1)))
        budget_ns = int(message.get("budget_ms", 10_000)) * 1_000_000
        deadline = time.perf_counter_ns() + budget_ns
        checks = Checks(self._oracle, self._case, self._fresh, message.get("lowest"), failures)
        checks.budget_ns = budget_ns // 2
        for i in range(wanted):
            samples += self._one_round(calls, plan.get(i, {}), checks)
            alone = all(r.ended for r in self._runners if r.trusted)
            if alone or all(r.ended for r in self._runners) or time.perf_counter_ns() > deadline:
                break
        for number, runner in enumerate(self._runners):
            checks.after(runner, number)
        return {
            "samples": samples, "failures": failures[:_MAX_FAILURES], "calls": calls,
            "cache": "cold" if self._cold else "warm", "flush_bytes": self._flush.bytes,
            "fresh": self._fresh.how, "rounds": self._round, "limits": self._gauge.limits(),
            "runners": [
                {"calls": r.calls_made, "verified": r.verified, "ended": r.ended}
                for r in self._runners
            ],
            "unverified_for_time": checks.left_out,
            "notes": [self._gauge.missing] if self._gauge.missing else [],
        }

    def leave(self) -> None:
        for runner in self._runners:
            runner.leave()

    def _plan(self, wanted: int, share: float) -> dict:
        """{round of the chunk: {runner: True}}: whose call is verified in full. Early rounds hold at
        least one a runner, since a chunk may end by its budget."""
        plan: dict[int, dict[int, bool]] = {}
        for number in range(len(self._runners)):
            sure = self._seeds.of("sure", self._round, number) % max(1, min(wanted, 10) // 2)
            for i in range(wanted):
                if i == sure or self._seeds.chance(share, "verify", self._round + i, number):
                    plan.setdefault(i, {})[number] = True
        return plan

    def _one_round(self, calls: int, verified: dict, checks) -> list[dict]:
        order = list(range(len(self._runners)))
        if self._round % 2:
            order.reverse()
        self._round += 1
        return [
            self._one_sample(number, calls, bool(verified.get(number)), checks)
            for number in order
            if not self._runners[number].ended
        ]

    def _one_sample(self, number: int, calls: int, verify: bool, checks) -> dict:
        runner = self._runners[number]
        first = self._seeds.of("slot", self._round, number) % self._slot_count
        chosen = [(first + i) % self._slot_count for i in range(calls)]
        seeds = [self._seeds.of("input", self._round, number, i) for i in range(calls)]

        def prepare() -> None:
            for seed, index in zip(seeds, chosen):
                self._fresh.write(seed, runner.slots.slots[index].inputs)
            runner.snapshot.draw(chosen, self._generator)
            synchronize(self._device)
            if self._cold:
                self._flush()
            self._flush.hold(self._hold_us)

        if checks is not None:
            checks.after(runner, number)
        times = runner.call(first, calls, self._timeout_ns, prepare)
        gauge = self._gauge.read()
        sample = {"runner": number, "round": self._round - 1, "verified": False, "failed": False}
        sample |= times | gauge | {"flush_ns": self._flush.span_ns(), "ended": bool(runner.ended)}
        if verify and not runner.ended and checks.affordable():
            i = self._seeds.of("which", self._round, number) % calls
            sample["verified"] = True
            sample["failed"] = checks.verify(runner, number, self._round - 1, chosen[i], seeds[i])
        if checks is not None and not runner.ended:
            runner.last_sample = sample
        return sample


class Checks:
    """Whole outputs against the reference on the secret share of calls; after every call, whether
    its outputs stayed what they were at `done`."""

    def __init__(self, oracle, case, fresh: FreshInputs, lowest, failures: list):
        self._oracle, self._case, self._fresh = oracle, case, fresh
        self._lowest, self._failures = lowest, failures
        self.budget_ns, self._spent_ns, self.left_out = 0, 0, 0

    def affordable(self) -> bool:
        """A float64 reference may take seconds: half of a chunk's budget is for the samples."""
        if self._spent_ns < self.budget_ns:
            return True
        self.left_out += 1
        return False

    def verify(self, runner: TimedRunner, number: int, round_: int, index: int, seed: int) -> bool:
        """Whether the call failed; a failure keeps its witness."""
        begun = time.perf_counter_ns()
        copy = runner.slots.private(index)
        late = not runner.snapshot.agrees_with(copy)
        runner.verified += 1
        inputs = self._fresh.value(seed)
        found = self._oracle.verify_outputs(self._case, inputs, copy.value, self._lowest)
        synchronize(self._oracle.device)
        self._spent_ns += time.perf_counter_ns() - begun
        failed = late or fails(found)
        if failed:
            self._failures.append(
                found | {"runner": number, "round": round_, "call": runner.calls_made,
                         "seed": seed, "changed_after_done": late}
            )
        return failed


    def after(self, runner: TimedRunner, number: int) -> None:
        """At the runner's next turn: outputs that arrived late make their call a failed one."""
        sample, runner.last_sample = runner.last_sample, None
        if sample is None or sample["failed"] or runner.snapshot.unchanged():
            return
        sample["failed"] = True
        self._failures.append({
            "structure": None, "outputs": [], "runner": number, "round": sample["round"],
            "call": runner.calls_made, "changed_after_done": True,
        })


def fails(found: dict) -> bool:
    if found.get("structure"):
        return True
    keys = ("failing", "rms_failed", "nan_mismatches", "infinity_mismatches")
    return any(output.get(key) for output in found.get("outputs", []) for key in keys)
