"""Frames between the judge and a worker, and the loop that answers them.

A frame is the 16-byte header of src/worker/wire.h and one JSON object. Descriptors travel with the
header's first byte.
"""

import array
import fcntl
import json
import math
import os
import socket
import struct
import traceback

MAGIC, VERSION = 0x4C454946, 1
REQUEST, REPLY, EVENT = 1, 2, 3
MAX_PAYLOAD = 16 << 20
MAX_DESCRIPTORS = 16
PRIVATE_DESCRIPTOR = 200
_HEADER = struct.Struct("<IHHII")


class Fault(Exception):
    """Why an operation has no answer: `kind` is one of task, candidate, worker, unsupported, memory."""

    def __init__(self, kind: str, message: str, detail: str = ""):
        super().__init__(message)
        self.kind, self.message, self.detail = kind, message, detail


class Closed(Exception):
    """The judge has gone, or does not speak the protocol."""


class Channel:
    def __init__(self, descriptor: int):
        # Out of the way of code that closes or inherits low descriptors.
        private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, PRIVATE_DESCRIPTOR)
        os.close(descriptor)
        self._socket = socket.socket(fileno=private)
        self._descriptors: list[int] = []

    def receive(self) -> tuple[int, dict, list[int]]:
        """The next request: (sequence, message, descriptors)."""
        header = self._read(_HEADER.size)
        magic, version, kind, length, sequence = _HEADER.unpack(header)
        if magic != MAGIC or version != VERSION or kind != REQUEST or length > MAX_PAYLOAD:
            raise Closed("a malformed frame")
        message = json.loads(self._read(length))
        descriptors, self._descriptors = self._descriptors, []
        return sequence, message, descriptors

    def send(self, kind: int, sequence: int, message: dict, descriptors: list[int] = ()) -> None:
        payload = json.dumps(sendable(message), separators=(",", ":")).encode()
        if len(payload) > MAX_PAYLOAD:
            message = {"ok": False, "fault": "worker", "error": "the answer is too large"}
            payload = json.dumps(message).encode()
        frame = _HEADER.pack(MAGIC, VERSION, kind, len(payload), sequence) + payload
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sent = self._socket.sendmsg([frame], rights if descriptors else [])
        self._socket.sendall(frame[sent:])

    def event(self, sequence: int, message: dict) -> None:
        self.send(EVENT, sequence, message)

    def _read(self, n: int) -> bytes:
        parts = bytearray()
        space = socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
        while len(parts) < n:
            data, ancillary, _, _ = self._socket.recvmsg(n - len(parts), space)
            for level, what, rights in ancillary:
                if level == socket.SOL_SOCKET and what == socket.SCM_RIGHTS:
                    numbers = array.array("i")
                    numbers.frombytes(rights[: len(rights) - len(rights) % numbers.itemsize])
                    self._descriptors.extend(numbers)
            if not data:
                raise Closed("end of file")
            parts += data
        return bytes(parts)


def sendable(value):
    """JSON has no NaN and no infinity: they travel as text ("nan", "inf", "-inf"). Half a surrogate
    pair, which Python has in the text of undecodable bytes, becomes a question mark."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [sendable(item) for item in value]
    return value


def serve(channel: Channel, worker) -> None:
    """Answers requests until the judge closes. `worker.op_NAME(message, context)` returns the
    reply's fields; context.descriptors came with the request, context.give(fd) sends one back."""
    while True:
        try:
            sequence, message, descriptors = channel.receive()
        except (Closed, OSError, ValueError):
            return
        context = Context(channel, sequence, descriptors)
        reply = answer(worker, message, context)
        try:
            channel.send(REPLY, sequence, reply, context.outgoing)
        except OSError:
            return
        finally:
            context.close()


class Context:
    def __init__(self, channel: Channel, sequence: int, descriptors: list[int]):
        self.descriptors, self.outgoing = descriptors, []
        self._channel, self._sequence, self._kept = channel, sequence, set()

    def take(self, index: int = 0) -> int:
        """A descriptor of the request; the caller owns it from now on."""
        if index >= len(self.descriptors):
            raise Fault("worker", "a descriptor is missing from the request")
        self._kept.add(self.descriptors[index])
        return self.descriptors[index]

    def give(self, descriptor: int) -> None:
        self.outgoing.append(descriptor)

    def progress(self, what: str, done: int = 0, total: int = 0) -> None:
        self._channel.event(self._sequence, {"progress": what, "done": done, "total": total})

    def close(self) -> None:
        for descriptor in self.descriptors:
            if descriptor not in self._kept:
                os.close(descriptor)


def answer(worker, message: dict, context: Context) -> dict:
    operation = getattr(worker, f"op_{message.get('op')}", None)
    if operation is None:
        return {"ok": False, "fault": "worker", "error": f"unknown operation {message.get('op')!r}"}
    try:
        return {"ok": True, **(operation(message, context) or {})}
    except Fault as fault:
        reply = {"ok": False, "fault": fault.kind, "error": one_line(fault.message)}
        return reply | {"detail": fault.detail[-8192:]}
    except BaseException as error:  # a candidate may raise SystemExit or worse
        kind = "memory" if is_out_of_memory(error) else worker.blame
        text = one_line(words_of(error))
        return {"ok": False, "fault": kind, "error": text, "detail": traceback.format_exc()[-8192:]}


def words_of(error: BaseException) -> str:
    """An exception's text; one that a candidate defined may fail to give it."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return type(error).__name__


# How a device's exhaustion reads where PyTorch's allocator did not meet it: contexts, modules, workspaces.
_EXHAUSTED = ("CUDA error: out of memory", "CUDA driver error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED",
              "CUDNN_STATUS_ALLOC_FAILED", "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = words_of(error) if isinstance(error, RuntimeError) else ""
    return any(phrase in text for phrase in _EXHAUSTED)


def one_line(text: str) -> str:
    return " ".join(text.split())[:600]
