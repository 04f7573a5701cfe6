"""protocol: a candidate judged by another protocol's rules, in its own process."""

import torch

from ..channel import Context
from ..runner.failures import foreign_code
from ..runner.loading import apply_policy, settle
from . import checking, rules, timing
from .pair import Pair


class ProtocolOperations:
    def op_protocol(self, message: dict, context: Context) -> dict:
        """trials, and the times where all passed. Loading that fails is a fault, as of `load`."""
        table = rules.read(message["rules"])
        apply_policy("default")
        with foreign_code(self.printed, self.device, "module"):
            pair = Pair(table, message["task_path"], message["path"], self.device)
            wait = self._wait
            wait()
            trials = checking.run_trials(pair, wait)
            passed = bool(trials) and all(trial["passed"] for trial in trials)
            answer = {"trials": trials, "accepted": passed, "notes": notes(pair)}
            if passed and message.get("timed", True):
                answer |= measured(pair, wait, table.compiled_baseline and message.get("compile", False))
        return answer | {"printed": self.printed.text()}

    def _wait(self) -> None:
        settle(self.device)


def measured(pair: Pair, wait, compiled: bool) -> dict:
    """A candidate that fails under the clock keeps its verdict: the originals record no time."""
    try:
        times = timing.time_pair(pair, wait, compiled)
        if pair.rules.peak_memory:
            times["kernel_peak_bytes"] = timing.peak_bytes(pair, pair.candidate)
            times["reference_peak_bytes"] = timing.peak_bytes(pair, pair.reference)
        return times
    except Exception as error:
        return {"timing_failed": f"{type(error).__name__}: {error}"[:300]}


def notes(pair: Pair) -> list[str]:
    found = []
    if pair.rules.casts_inputs and pair.precision != torch.float32:
        found.append(f"precision {pair.precision}, as the task's inputs".replace("torch.", ""))
    if pair.device == "cpu" and pair.rules.tf32_baseline:
        found.append("no TF32 on a CPU")
    if pair.device == "cpu" and pair.rules.peak_memory:
        found.append("no allocator peak on a CPU")
    return found
