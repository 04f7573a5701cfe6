"""The runner's timed loop: polls `go`, runs forward, copies outputs out, claims times, says `done`.

Everything measured here is a claim (docs/torch-workers.md#clock).
"""

import gc
import time

import torch

from .. import numerics, values
from ..channel import Fault
from ..control import (
    ATTEND, ATTENDING, CALLS, DEVICE_NS, DONE, GO, HELD, HOLDS, HOST_NS, LEAVE, QUEUED, READY,
    REPORTED, SLOT, STATUS, STATUS_DONE, STATUS_FAILED, ControlPage,
)
from .holding import hold_for
from .spans import span_for

MAX_SLOTS = 1024
_NAP_S = 0.0002  # between turns; the oracle calls for attention before it prepares a call
_PATIENCE_NS = 3_000_000_000  # attention without a call: back to sleep


class TimedOperations:
    def op_time(self, message, context):
        module = self.module(message.get("module"))
        page = ControlPage(context.take(0))
        try:
            slots = open_slots(self, message)
            module.assert_policy()
            with self.printed.captured():
                forward = module.forward
                if message.get("graph"):
                    forward = captured(module.forward, slots, self.device)
                casts = module.policy in numerics.LOW_DTYPES
                loop = TimedLoop(page, forward, slots, self.device, casts, module.assert_policy)
                return {"calls": loop.run()}
        finally:
            page.close()


class Slot:
    """One call's place: the inputs as forward takes them, where its outputs go."""

    def __init__(self, inputs, outputs: list[torch.Tensor]):
        self.inputs, self.outputs = inputs, outputs


def open_slots(runner, message: dict) -> list[Slot]:
    described = message.get("slots")
    if not isinstance(described, list) or not 0 < len(described) <= MAX_SLOTS:
        raise Fault("worker", "a timed loop needs its slots")
    inputs, outputs = (runner.window(message.get(k)) for k in ("inputs_window", "outputs_window"))
    return [
        Slot(
            values.tensors_of(inputs, slot["inputs"]),
            [values.view(outputs, leaf) for leaf in slot["outputs"]["leaves"]],
        )
        for slot in described
    ]


class TimedLoop:
    def __init__(self, page: ControlPage, forward, slots, device: str, casts: bool = False,
                 check=lambda: None):
        """`check` raises where no further turn may begin; it runs between turns, on nobody's time."""
        self.page, self.forward, self.slots = page, forward, slots
        self.device, self.casts, self.check = device, casts, check
        self.objection: Exception | None = None  # of the latest check, for the next turn
        self.span, self.hold = span_for(device), None
        self.failure: BaseException | None = None

    def run(self) -> int:
        """Answers calls until told to leave; raises what forward raised. The number of calls."""
        gc.collect()
        gc.disable()  # a collection inside a call would be the collector's time
        done = 0
        words = self.page.words
        self.page.hold()
        self.hold = hold_for(self.page, self.device)
        words[HOLDS] = int(self.hold is not None)
        words[READY] = 1
        try:
            while (turn := self._next_turn()) != LEAVE:
                self._answer(turn)
                done += 1
                if self.failure is not None:
                    raise self.failure
                gc.collect(0)
                try:
                    self.check()
                except Exception as error:
                    self.objection = error
        finally:
            gc.enable()
            if self.hold is not None:
                self.hold.close()
        return done

    def _next_turn(self) -> int:
        words, last = self.page.words, self.page.words[DONE]
        while True:
            while words[GO] in (last, 0) and words[ATTEND] in (last, 0):
                time.sleep(_NAP_S)
            words[ATTENDING] = words[ATTEND]
            patience = time.perf_counter_ns() + _PATIENCE_NS
            while time.perf_counter_ns() < patience:
                go = words[GO]
                if go != last and go != 0:
                    return go
            time.sleep(_NAP_S)

    def _answer(self, turn: int) -> None:
        words, reals = self.page.words, self.page.reals
        status, device_ns, host_ns = STATUS_DONE, 0.0, 0.0
        calls = max(1, words[CALLS])
        try:
            if self.objection is not None:
                raise self.objection
            host_ns = self._queue(turn, words[SLOT], calls, words[HELD] == 1) / calls
            self._wait()
        except BaseException as error:
            status, self.failure = STATUS_FAILED, error
        words[STATUS] = status
        words[DONE] = turn
        # After `done`: reading the events of a batch takes the host a microsecond a call, which
        # would be part of the wall time of honest runners alone.
        if self.failure is None:
            device_ns = self._device_ns() / calls
        reals[DEVICE_NS], reals[HOST_NS] = device_ns, host_ns
        words[REPORTED] = turn

    def _queue(self, turn: int, first: int, calls: int, held: bool) -> float:
        """Launches the calls, behind a hold where there is to be one; the host's ns in forward."""
        if held and self.hold is not None:
            self.hold.begin(turn)
        host_ns = 0
        for i in range(calls):
            slot = self.slots[(first + i) % len(self.slots)]
            self.span.begin()
            begun = time.perf_counter_ns()
            result = self.forward(slot.inputs)
            host_ns += time.perf_counter_ns() - begun
            self.span.end()
            # Before the next call: its replay overwrites a CUDA graph's outputs, be the graph ours,
            # torch.compile's or the candidate's.
            copy_out(result, slot.outputs, self.casts)
        self.page.words[QUEUED] = turn
        return float(host_ns)

    def _wait(self) -> None:
        self.span.wait()

    def _device_ns(self) -> float:
        return self.span.finish()


def copy_out(result, outputs: list[torch.Tensor], casts: bool) -> None:
    _, leaves = values.flatten(result, "candidate")
    if len(leaves) != len(outputs):
        raise Fault("candidate", f"{len(leaves)} output tensors where {len(outputs)} are expected")
    for (path, source), target in zip(leaves, outputs):
        fits = source.shape == target.shape and source.device == target.device
        if not fits or (source.dtype != target.dtype and not casts):
            raise Fault("candidate", f"output '{path}' changed its shape, dtype or device")
        target.copy_(source.detach())


def captured(forward, slots: list[Slot], device: str):
    """forward as one CUDA graph a slot, replayed: CUDA-graph mode, which the judge labels."""
    if not device.startswith("cuda"):
        raise Fault("unsupported", "CUDA graphs need a GPU")
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    graphs, pool = {}, None
    with torch.cuda.stream(side):
        for _ in range(3):  # lazy initialisation and autotuning must not fall into the capture
            forward(slots[0].inputs)
    torch.cuda.synchronize(device)
    for slot in slots:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=side):
            result = forward(slot.inputs)
        pool = pool or graph.pool()
        graphs[id(slot.inputs)] = (graph, result)
    torch.cuda.synchronize(device)

    def replay(inputs):
        graph, result = graphs[id(inputs)]
        graph.replay()
        return result

    return replay
