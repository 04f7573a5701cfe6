"""The control page of a runner's timed loop: one page shared by the oracle and one runner.

    page = ControlPage(descriptor)
    page.words[GO] = 7                                    # the oracle starts call 7
    page.wait(DONE, 7, deadline_ns, alive=page.runner_lives)

Words are 8 bytes and written whole (a cast memoryview stores them in one instruction; struct's "<q"
would write byte by byte). What a runner writes here is a claim: the oracle believes none of it.
"""

import ctypes
import fcntl
import math
import mmap
import os
import struct
import time

from .channel import Fault
from .window import seal

PAGE_BYTES = 4096
GO, DONE, CALLS, DEVICE_NS, HOST_NS, STATUS, SLOT, ATTEND, ATTENDING, READY = range(10)
HELD, QUEUED, RELEASE, HOLDS, REPORTED, LEAD_NS = range(10, 16)
LEAVE = -1
STATUS_DONE, STATUS_FAILED = 0, 1

_SPINS_PER_LOOK = 2000  # about 100 µs between looks at the clock
_LOCK = struct.Struct("hhqqi4x")  # struct flock


class ControlPage:
    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        _check_form(descriptor)
        self._pages = mmap.mmap(descriptor, PAGE_BYTES)
        self.words = memoryview(self._pages).cast("q")
        self.reals = memoryview(self._pages).cast("d")

    def wait(self, word: int, value: int, deadline_ns: int, alive=None) -> bool:
        """Spins until the word has the value. False when the deadline passes or alive() denies."""
        words = self.words
        while True:
            for _ in range(_SPINS_PER_LOOK):
                if words[word] == value:
                    return True
            if time.perf_counter_ns() > deadline_ns:
                return words[word] == value
            if alive is not None and not alive():
                return words[word] == value

    def claim_ns(self, word: int) -> float:
        """A time that the runner claims; 0 for what cannot be one."""
        value = self.reals[word]
        return value if math.isfinite(value) and 0 < value < 1e15 else 0.0

    def hold(self) -> None:
        """The runner's sign of life: the kernel drops this lock when the process ends."""
        fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def runner_lives(self) -> bool:
        """Whether another process holds the lock."""
        asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = _LOCK.unpack(fcntl.fcntl(self.descriptor, fcntl.F_GETLK, asked))
        return answer[0] != fcntl.F_UNLCK

    def address_of(self, word: int) -> int:
        """Where a word lies in this process."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self._pages)) + 8 * word

    def close(self) -> None:
        self.words.release()
        self.reals.release()
        self._pages.close()
        os.close(self.descriptor)


def _check_form(descriptor: int) -> None:
    """A page comes sealed from who made it: a runner has it before the oracle opens it, and could
    shrink it between a look at its size and a seal. So the seals are looked at first."""
    if not fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
        raise Fault("worker", "the control page is not sealed against shrinking")
    if os.fstat(descriptor).st_size < PAGE_BYTES:
        raise Fault("worker", "the control page is too short")


def create_page() -> int:
    """A descriptor of a new page, made as the judge makes them."""
    descriptor = os.memfd_create("fiel-control", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, PAGE_BYTES)
    seal(descriptor)
    return descriptor
