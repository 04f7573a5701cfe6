"""How a clock calls its runners: held batches where all of them can, single calls else.

    mode.settle(calls)      # tries; then mode.held, mode.calls, mode.why

A held call is queued in full before its inputs are right (timed_call.call_held). Some programs cannot
do that: what reads a result of the device on the host waits for the hold, what launches more than the
driver queues waits for room, and work on a stream that nothing orders behind the current one runs
early, on inputs that are not there yet. All of that is found out by trying, with a time limit and a
comparison, and costs the runner nothing but the mode. All runners of a clock are called the same way,
so that their times can be compared.
"""

_TRIES = 2  # the first may load kernels or allocate, which waits for the device
_SHRINK = 4
_MOST_MISSES = 3


class Mode:
    """`attempt(number, calls)`: a trial call of a runner; None, or what was wrong with it."""

    def __init__(self, runners: list, attempt):
        self._runners, self._attempt = runners, attempt
        self.held, self.calls = False, 1
        self.why: str | None = None  # not held, or with fewer calls than were asked for
        self._unable: str | None = None  # for good
        self._settled: dict[int, tuple[int, str | None]] = {}
        self._misses = [0] * len(runners)

    def settle(self, calls: int, wanted: bool) -> None:
        """Decides for a chunk that asks for batches of `calls`."""
        self.held, self.calls, self.why = False, 1 if wanted else calls, None
        if not wanted:
            return
        if not self._settled:
            self._unable = self._against(1)
            self._settled[1] = 1, None
        self.why = self._unable
        if self._unable:
            return
        if calls not in self._settled:
            self._settled[calls] = self._most(calls)
        self.held, (self.calls, self.why) = True, self._settled[calls]

    def missed(self, number: int) -> None:
        """A call that was not queued in time."""
        self._misses[number] += 1
        if self._misses[number] >= _MOST_MISSES:
            self._unable = self.why = f"runner {number}: it does not always queue its calls in time"

    @property
    def possible(self) -> bool:
        return self._unable is None

    def _most(self, calls: int) -> tuple[int, str | None]:
        """The most calls up to these that every runner can be held for, and why no more."""
        why = None
        while calls > 1 and (reason := self._against(calls)):
            why, calls = reason, max(1, calls // _SHRINK)
        return calls, why

    def _against(self, calls: int) -> str | None:
        for number, runner in enumerate(self._runners):
            if reason := self._reason(number, runner, calls):
                return f"runner {number}: {reason}"
        return None

    def _reason(self, number: int, runner, calls: int) -> str | None:
        if not runner.ended and not runner.holds():
            return "its device cannot wait for a word of memory"
        for _ in range(_TRIES):
            reason = None if runner.ended else self._attempt(number, calls)
            if reason is None:
                return None
        return reason
