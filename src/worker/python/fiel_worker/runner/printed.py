"""What a candidate prints, bounded, wherever it prints it.

Descriptors 1 and 2 lead, while a candidate runs, into a memory file of fixed size: a flood from C++
fails there instead of filling a disk or a pipe. Python's own streams swallow what is too much, so
that an honest program that prints a lot does not fail. The judge gets the file with `hello`, and
can read the last words of a runner that died.
"""

import contextlib
import ctypes
import fcntl
import io
import os
import sys

from ..channel import PRIVATE_DESCRIPTOR

CAPACITY = 1 << 20
REPLY_CHARACTERS = 4096
_F_ADD_SEALS, _SEALS = 1033, 0x0001 | 0x0002 | 0x0004  # no more seals, no shrinking, no growing


class Printed:
    def __init__(self):
        made = os.memfd_create("fiel-printed", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self.descriptor = _private(made)
        os.close(made)
        os.ftruncate(self.descriptor, CAPACITY)
        fcntl.fcntl(self.descriptor, _F_ADD_SEALS, _SEALS)

    @contextlib.contextmanager
    def captured(self):
        """Prints inside go to the file, from its begin. Never fails: what a candidate closed stays
        closed."""
        streams = sys.stdout, sys.stderr
        kept = []
        with contextlib.suppress(OSError):
            os.lseek(self.descriptor, 0, os.SEEK_SET)
        for number in (1, 2):
            with contextlib.suppress(OSError):
                kept.append((number, _private(number)))
            with contextlib.suppress(OSError):
                os.dup2(self.descriptor, number)
        sys.stdout, sys.stderr = _stream(1), _stream(2)
        try:
            yield
        finally:
            _flush_c()
            sys.stdout, sys.stderr = streams
            for number, old in kept:
                with contextlib.suppress(OSError):
                    os.dup2(old, number)
                    os.close(old)

    def text(self) -> str:
        """What the last captured() caught: begin and end of it, where it is long."""
        try:
            end = min(os.lseek(self.descriptor, 0, os.SEEK_CUR), CAPACITY)
            text = os.pread(self.descriptor, end, 0).decode("utf-8", "replace")
        except OSError:
            return ""  # the candidate closed it
        return shortened(text, REPLY_CHARACTERS)


def _private(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, PRIVATE_DESCRIPTOR)


def _flush_c() -> None:
    """What printf still buffers belongs to this call."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).fflush(None)


def shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


class _Bounded(io.RawIOBase):
    """Writes to a descriptor and drops what does not fit."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, data)
        return len(data)


def _stream(descriptor: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(_Bounded(descriptor), 1), errors="replace", write_through=True
    )
