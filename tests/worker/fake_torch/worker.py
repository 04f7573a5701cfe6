"""A PyTorch worker of no use: answers as its first argument says. Descriptor 3 is the channel.

    worker.py BEHAVIOUR
"""

import array
import json
import os
import signal
import socket
import struct
import sys
import time

channel = socket.socket(fileno=3)
HEADER = struct.Struct("<IHHII")
MAGIC = 0x4C454946


def read(n):
    data = b""
    while len(data) < n:
        part, rights, _, _ = channel.recvmsg(n - len(data), socket.CMSG_SPACE(64))
        for _, _, numbers in rights:
            received.extend(array.array("i", numbers))
        if not part:
            sys.exit(0)
        data += part
    return data


def frame(message, kind=2, sequence=0, magic=MAGIC, version=1, length=None):
    payload = message if isinstance(message, bytes) else json.dumps(message).encode()
    size = len(payload) if length is None else length
    return HEADER.pack(magic, version, kind, size, sequence) + payload


def reply(message, **options):
    channel.sendall(frame(message, sequence=sequence, **options))


def give(count):
    fds = array.array("i", [os.memfd_create("window") for _ in range(count)])
    ok = frame({"ok": True, "window": 5, "bytes": 4096}, sequence=sequence)
    channel.sendmsg([ok], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])


def answer_ahead():
    """The answer to the next request is there before the request."""
    reply({"ok": True})
    time.sleep(0.1)
    channel.sendall(frame({"ok": True}, sequence=(sequence + 1) & 0xFFFFFFFF))


def flood_output():
    for _ in range(400):
        os.write(2, b"x" * 65536)
    os.write(2, b"the last words\n")
    reply({"ok": True})


def hold_and_print():
    sys.stderr.write("about to die\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGSEGV)


def take_memory():
    kept = bytearray(1 << 30)
    kept[::4096] = b"x" * (len(kept) // 4096)
    time.sleep(60)


def clock():
    """A chunk of rounds as an oracle gives it, with what was asked for."""
    sample = {"runner": 1, "round": 6, "wall_ns": 9e5, "tail_ns": 2e4, "flush_ns": 44e3, "failed": True}
    late = {"runner": 1, "round": 6, "call": 70, "structure": None, "outputs": [], "missing_at_done": 3}
    reply({
        "ok": True, "clock": 4, "calls": 16, "mode": "held", "mode_why": "runner 1: its queue is short",
        "samples": [sample], "failures": [late | {"changed_after_done": False}], "asked": request,
        "runners": [{"calls": 70, "verified": 2, "ended": None}, {"calls": 9, "ended": "it hung"}],
    })


BEHAVIOURS = {
    "clock": clock,
    "echo": lambda: reply({"ok": True, "request": request, "descriptors": len(received)}),
    "events": lambda: [reply({"progress": "building", "done": i, "total": 3}, kind=3) for i in range(3)]
    + [reply({"ok": True})],
    "event_flood": lambda: [reply({"progress": "x"}, kind=3) for _ in range(200_000)],
    "large_event": lambda: reply({"progress": "x" * 100_000}, kind=3),
    "hang": lambda: time.sleep(60),
    "half_header": lambda: [channel.sendall(frame({"ok": True}, sequence=sequence)[:7]), time.sleep(60)],
    "half_payload": lambda: [reply({"ok": True}, length=1000), time.sleep(60)],
    "lying_length": lambda: reply({"ok": True}, length=(16 << 20) + 1),
    "short_length": lambda: reply({"ok": True}, length=3),
    "wrong_magic": lambda: reply({"ok": True}, magic=1),
    "wrong_version": lambda: reply({"ok": True}, version=9),
    "wrong_kind": lambda: reply({"ok": True}, kind=1),
    "wrong_sequence": lambda: channel.sendall(frame({"ok": True}, sequence=sequence + 1)),
    "answer_ahead": answer_ahead,
    "large_claim": lambda: reply({"ok": True, "text": "x" * (5 << 20)}),
    "two_replies": lambda: channel.sendall(2 * frame({"ok": True}, sequence=sequence)),
    "garbage": lambda: channel.sendall(os.urandom(64)),
    "not_json": lambda: reply(b"{ok: yes}"),
    "not_utf8": lambda: reply(b'{"ok": true, "a": "\xff\xfe"}'),
    "no_object": lambda: reply([1, 2]),
    "deep": lambda: reply(b'{"ok": true, "a": ' + b"[" * 5000 + b"]" * 5000 + b"}"),
    "no_ok": lambda: reply({"fault": "task"}),
    "ok_is_text": lambda: reply({"ok": "true"}),
    "large_reply": lambda: reply({"ok": True, "text": "x" * (15 << 20)}),
    "fault_task": lambda: reply({"ok": False, "fault": "task", "error": "no Model", "detail": "line 3"}),
    "fault_candidate": lambda: reply({"ok": False, "fault": "candidate", "error": "TypeError"}),
    "fault_memory": lambda: reply({"ok": False, "fault": "memory", "error": "out of memory"}),
    "fault_forged": lambda: reply({"ok": False, "fault": "timeout", "error": "x"}),
    "fault_long": lambda: reply({"ok": False, "fault": "task", "error": "e" * 99_999, "detail": "d" * 99_999}),
    "exit": lambda: os._exit(7),
    "exit_zero": lambda: os._exit(0),
    "crash": hold_and_print,
    "reply_and_exit": lambda: [reply({"ok": True}), os._exit(0)],
    "close": lambda: [channel.close(), time.sleep(60)],
    "flood_output": flood_output,
    "one_descriptor": lambda: give(1),
    "many_descriptors": lambda: give(40),
    "memory": take_memory,
}

while True:
    received = []
    _, _, _, size, sequence = HEADER.unpack(read(HEADER.size))
    request = json.loads(read(size))
    BEHAVIOURS[request.get("behave") or sys.argv[1]]()
