"""What is checked of timed calls: every one for outputs that are late, a secret share in full."""

import time

from .fresh import FreshInputs
from .timed_call import TimedRunner, synchronize


class Checks:
    """Of one chunk. Failures keep their witness: runner, round, call, seed."""

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

    def at_done(self, runner: TimedRunner, sample: dict) -> None:
        """Outputs that were not there at `done`, or came while the oracle looked."""
        missing, changed = runner.snapshot.missing(), runner.snapshot.changed_at_once()
        if missing or changed:
            self._late(runner.calls_made, sample, missing, changed)

    def verify(self, runner: TimedRunner, sample: dict, index: int, seed: int) -> None:
        """One call in full, on inputs drawn again."""
        begun = time.perf_counter_ns()
        copy = runner.slots.private(index)
        late = not runner.snapshot.agrees_with(copy)
        runner.verified += 1
        found = self.compared(copy.value, seed)
        self._spent_ns += time.perf_counter_ns() - begun
        sample["verified"] = True
        if late or fails(found):
            sample["failed"] = True
            self._failures.append(
                found | witness(runner.calls_made, sample)
                | {"seed": seed, "changed_after_done": late}
            )

    def compared(self, outputs, seed: int) -> dict:
        found = self._oracle.verify_outputs(
            self._case, self._fresh.value(seed), outputs, self._lowest
        )
        synchronize(self._oracle.device)
        return found

    def look_back(self, runner: TimedRunner, keep: int = 0) -> None:
        """Outputs that came or changed after `done` make their call a failed one. Goes on looking at
        the last `keep` samples: those whose slots are not needed yet."""
        for call, sample, look in runner.watched:
            if not sample["failed"] and not look.unchanged():
                self._late(call, sample, 0, True)
        runner.watched = runner.watched[-keep:] if keep else []

    def _late(self, call: int, sample: dict, missing: int, changed: bool) -> None:
        sample["failed"] = True
        self._failures.append(
            {"structure": None, "outputs": []} | witness(call, sample)
            | {"missing_at_done": missing, "changed_after_done": changed}
        )


def witness(call: int, sample: dict) -> dict:
    return {"runner": sample["runner"], "round": sample["round"], "call": call}


def fails(found: dict) -> bool:
    if found.get("structure"):
        return True
    keys = ("failing", "rms_failed", "nan_mismatches", "infinity_mismatches")
    return any(output.get(key) for output in found.get("outputs", []) for key in keys)
