"""The clock: fresh secret inputs, a cold cache and the oracle's own time for every call.

ClockOperations is mixed into the oracle and needs of it

    device, windows {id: Window}
    case_values(case) -> (inputs, outputs)   described values, leaves without offsets
    draw_inputs(case, seed) -> value         the case's inputs drawn anew, tensors on the device
    verify_outputs(case, inputs, outputs, lowest) -> the fields of a `verify` reply

A clock outlives a request: `time` with its id goes on where the last chunk ended, so that the judge
can stop as soon as it knows enough.
"""

import dataclasses
import time

import torch

from .. import nvml, values
from ..channel import Fault
from ..control import ControlPage
from .flush import CacheFlush
from .fresh import FreshInputs
from .holding import Mode
from .slots import SlotSet
from .timed_call import Seeds, TimedRunner, synchronize
from .timed_checks import Checks, fails

_MAX_FAILURES = 8
_ENTRY_TIMEOUT_MS, _CALL_TIMEOUT_MS, _HOLD_TIMEOUT_MS = 60_000, 10_000, 500
_WARMUP_ROUNDS = 5  # CUDA graph trees run twice before they replay


class ClockOperations:
    def op_slots(self, message, context):
        """Lays out slots; without windows only says how large they must be."""
        inputs, outputs = self.case_values(message["case"])
        if message.get("packed"):  # a bare kernel writes its outputs in place, contiguous
            for leaf in outputs["leaves"]:
                leaf["stride"] = values.packed(leaf["shape"])
        slots = SlotSet(inputs, outputs, int(message["count"]))
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
        runners, known, takers = [], self.__dict__.get("slot_sets", {}), {}
        for number, runner in enumerate(message["runners"]):
            slots = known.get(runner["slots"])
            if slots is None:
                raise Fault("worker", "a runner's slots are not laid out")
            takers.setdefault(runner["slots"], []).append(bool(runner["trusted"]))
            page = ControlPage(context.take(runner.get("control", number)))
            runners.append(TimedRunner(
                page, slots, bool(runner["trusted"]), self.device, bool(runner.get("gauge", False))))
        for slots, trusted in takers.items():
            del known[slots]
            if len(trusted) > 1 and not all(trusted):
                raise Fault("worker", "slots of a candidate are its own")
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
        self._cold, self._round, self._trials = bool(message.get("cold", True)), 0, 0
        self._flush, self._gauge = CacheFlush(self._device), nvml.Gauge(self._device)
        draw = lambda seed: oracle.draw_inputs(case, seed)
        self._fresh = FreshInputs(draw, self._device, self._seeds.of("first"))
        self._generator = torch.Generator(self._device)
        self._generator.manual_seed(self._seeds.of("snapshot"))
        self._slot_count = min(len(r.slots.slots) for r in runners)
        self._hold_ns = int(message.get("hold_timeout_ms", _HOLD_TIMEOUT_MS)) * 1_000_000
        self._mode = Mode(runners, self._trial)
        self._warm_up(message)

    def _warm_up(self, message: dict) -> None:
        # What the first call compiles, it compiles in the time that entering has.
        self._timeout_ns = int(message.get("entry_timeout_ms", _ENTRY_TIMEOUT_MS)) * 1_000_000
        for runner in self._runners:
            runner.enter(self._timeout_ns)
        for i in range(int(message.get("warmup", _WARMUP_ROUNDS))):
            self._one_round({}, None)
            self._timeout_ns = int(message.get("call_timeout_ms", _CALL_TIMEOUT_MS)) * 1_000_000

    def chunk(self, message: dict, context) -> dict:
        """Rounds until `samples_max` or `budget_ms`, whichever comes first."""
        samples, failures = [], []
        wanted = int(message.get("samples_max", 100))
        plan = self._plan(wanted, float(message.get("verify_share", 0.1)))
        budget_ns = int(message.get("budget_ms", 10_000)) * 1_000_000
        deadline = time.perf_counter_ns() + budget_ns
        self._checks = Checks(self._oracle, self._case, self._fresh, message.get("lowest"), failures)
        self._checks.budget_ns = budget_ns // 2
        calls = max(1, min(int(message.get("calls", 1)), self._slot_count))
        self._mode.settle(calls, bool(message.get("held", False)))
        held = self._mode.held
        for i in range(wanted):
            samples += self._one_round(plan.get(i, {}), self._checks)
            alone = all(r.ended for r in self._runners if r.trusted and not r.gauge)
            if alone or all(r.ended for r in self._runners) or time.perf_counter_ns() > deadline:
                break
            if held and not self._mode.possible:
                break
        for runner in self._runners:
            self._checks.look_back(runner)
        return {
            "samples": samples, "failures": failures[:_MAX_FAILURES], "calls": self._mode.calls,
            "mode": "held" if held else "unheld", "mode_why": self._mode.why,
            "cache": "cold" if self._cold else "warm", "flush_bytes": self._flush.bytes,
            "fresh": self._fresh.how, "rounds": self._round, "limits": self._gauge.limits(),
            "runners": [
                {"calls": r.calls_made, "verified": r.verified, "ended": r.ended}
                for r in self._runners
            ],
            "unverified_for_time": self._checks.left_out,
            "notes": [self._gauge.missing] if self._gauge.missing else [],
        }

    def leave(self) -> None:
        for runner in self._runners:
            runner.leave()

    def _plan(self, wanted: int, share: float) -> dict:
        """{round of the chunk: {runner: True}}: whose call is verified in full. Early rounds hold at
        least one a runner, since a chunk may end by its budget. A float64 reference may cost fifty
        calls: what trusted sides answer was compared before the clock started."""
        plan: dict[int, dict[int, bool]] = {}
        for number, runner in enumerate(self._runners):
            if runner.trusted:
                continue
            sure = self._seeds.of("sure", self._round, number) % max(1, min(wanted, 10) // 2)
            for i in range(wanted):
                if i == sure or self._seeds.chance(share, "verify", self._round + i, number):
                    plan.setdefault(i, {})[number] = True
        return plan

    def _one_round(self, verified: dict, checks) -> list[dict]:
        order = list(range(len(self._runners)))
        if self._round % 2:
            order.reverse()
        self._round += 1
        samples = [
            self._one_sample(number, bool(verified.get(number)), checks)
            for number in order
            if not self._runners[number].ended
        ]
        return [sample for sample in samples if sample is not None]

    def _one_sample(self, number: int, verify: bool, checks) -> dict | None:
        """None where a held call was not queued in time."""
        runner = self._runners[number]
        calls = self._mode.calls
        apart = 2 * calls <= self._slot_count
        if checks is not None:
            checks.look_back(runner, keep=int(apart))
        call = self._draw(calls, "turn", self._round, number)
        times = self._timed(runner, call, self._mode.held)
        if times is None and not runner.ended:
            self._mode.missed(number)
            return None
        sample = {"runner": number, "round": self._round - 1, "verified": False, "failed": False}
        sample |= (times or {}) | self._gauge.read()
        sample |= {"flush_ns": self._flush.span_ns(), "ended": bool(runner.ended)}
        if checks is None or runner.ended or runner.gauge:
            return sample
        checks.at_done(runner, sample)
        if verify and not sample["failed"] and checks.affordable():
            checks.verify(runner, sample, call.chosen[call.secret], call.seeds[call.secret])
        checks.look_back(runner, keep=int(apart))
        # Trusted sides may share their slots: what stands there later is another's.
        if not runner.trusted:
            runner.watched.append((runner.calls_made, sample, runner.snapshot.look()))
        return sample

    def _draw(self, calls: int, *what) -> "Drawn":
        """Slots at a secret place: of one half in even rounds and of the other in odd ones, so that
        a runner's last outputs can be watched during its next call."""
        half = self._slot_count // 2
        begin, room = 0, self._slot_count
        if calls <= half:
            begin, room = (self._round % 2) * half, half - calls + 1
        first = begin + self._seeds.of("slot", *what) % room
        return Drawn(
            first, [(first + i) % self._slot_count for i in range(calls)],
            [self._seeds.of("input", *what, i) for i in range(calls)],
            self._seeds.of("which", *what) % calls,
        )

    def _timed(self, runner: TimedRunner, call: "Drawn", held: bool) -> dict | None:
        def fill(i: int, inputs: list[torch.Tensor]) -> None:
            self._fresh.write(call.seeds[i], inputs)

        def prepare() -> None:
            runner.decoys.write(call.chosen, fill, self._generator)
            runner.snapshot.draw(call.chosen, self._generator)
            runner.snapshot.poison()
            synchronize(self._device)
            if self._cold:
                self._flush()

        calls, timeout_ns, reveal = len(call.chosen), self._timeout_ns, runner.decoys.reveal
        if not held:
            return runner.call(call.first, calls, timeout_ns, prepare, reveal)
        return runner.call_held(call.first, calls, timeout_ns, self._hold_ns, prepare, reveal)

    def _trial(self, number: int, calls: int) -> str | None:
        """A held call that is checked and not counted: what speaks against holding this runner."""
        runner = self._runners[number]
        self._checks.look_back(runner)
        self._trials += 1
        call = self._draw(calls, "trial", self._trials, number)
        times = self._timed(runner, call, True)
        if runner.ended:
            return None
        if times is None:
            return f"it does not queue {calls} calls in time: it waits for their results, or launches much"
        if runner.gauge:
            return None
        wrong = runner.snapshot.missing() or runner.snapshot.changed_at_once()
        if not wrong and not runner.trusted:  # a comparison may take seconds
            copy = runner.slots.private(call.chosen[call.secret])
            wrong = fails(self._checks.compared(copy.value, call.seeds[call.secret]))
        return "its answer to a held call is wrong" if wrong else None


@dataclasses.dataclass
class Drawn:
    """Slots and seeds of one sample's calls, and which of them is looked at in full."""

    first: int
    chosen: list[int]
    seeds: list[int]
    secret: int
