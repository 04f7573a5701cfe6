"""Speaks to a runner as the judge does: a process, a socket at descriptor 3, windows."""

import array
import os
import json
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "src/worker/python"))

import torch  # noqa: E402

from fiel_worker import values  # noqa: E402
from fiel_worker.window import Window  # noqa: E402

HEADER = struct.Struct("<IHHII")
MAGIC = 0x4C454946


class Refused(Exception):
    """A reply with ok = false; `reply` holds it."""

    def __init__(self, reply: dict):
        super().__init__(f"{reply['fault']}: {reply['error']}\n{reply.get('detail', '')}")
        self.reply, self.fault = reply, reply["fault"]


class Runner:
    def __init__(self, device: str = "cpu", environment: dict | None = None):
        self.device = device
        self.folder = tempfile.mkdtemp(prefix="fiel-runner-")
        ours, theirs = socket.socketpair()
        at_three = "import os,sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.argv[2], sys.argv[2:])"
        # dup2 in the child of a fresh interpreter: descriptor 3 may be in use in this one.
        self.process = subprocess.Popen(
            [sys.executable, "-c", at_three, str(theirs.fileno()), sys.executable, "-m",
             "fiel_worker", "runner", device],
            pass_fds=[theirs.fileno()],
            env=os.environ | {
                "PYTHONPATH": str(SOURCE / "src/worker/python"),
                "TMPDIR": self.folder, "HOME": self.folder,
            } | (environment or {}),
        )
        theirs.close()
        self.socket, self.sequence, self.windows = ours, 0, {}
        self.hello = self.ask("hello", role="runner", device=device)

    def ask(self, operation: str, descriptors=(), **fields) -> dict:
        self.sequence += 1
        payload = json.dumps({"op": operation, **fields}).encode()
        frame = HEADER.pack(MAGIC, 1, 1, len(payload), self.sequence) + payload
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sent = self.socket.sendmsg([frame], rights if descriptors else [])
        self.socket.sendall(frame[sent:])
        while True:
            kind, sequence, reply = self._frame()
            if kind == 2:
                assert sequence == self.sequence
                break
        if not reply["ok"]:
            raise Refused(reply)
        return reply

    def _frame(self):
        magic, version, kind, length, sequence = HEADER.unpack(self._read(HEADER.size))
        assert magic == MAGIC and version == 1
        return kind, sequence, json.loads(self._read(length))

    def _read(self, n: int) -> bytes:
        data = b""
        while len(data) < n:
            part, descriptors, _, _ = socket.recv_fds(self.socket, n - len(data), 16)
            for descriptor in descriptors:
                os.close(descriptor)
            if not part:
                raise EOFError(f"the runner has gone (exit code {self.process.wait()})")
            data += part
        return data

    def window(self, size: int) -> tuple[int, Window]:
        window = Window.create(self.device, size)
        name = len(self.windows) + 1
        self.windows[name] = window
        self.ask("map_window", [window.descriptor], window=name, bytes=size)
        return name, window

    def file(self, name: str, text: str) -> str:
        path = pathlib.Path(self.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def load(self, task: str, candidate: str | None = None, kind: str = "module", **fields) -> dict:
        path = {"task_path": task, "path": candidate} if candidate else {"path": task}
        kind = kind if candidate else "reference"
        fields = {"init_seed": 1, "mode": "eval", "policy": "default", "compile": "none"} | fields
        return self.ask("load", kind=kind, **path, **fields)

    def place(self, value, begin: int = 0) -> tuple[int, dict]:
        """A new window with a value in it: (window, value)."""
        tree, found = values.flatten(value)
        leaves = [values.describe(path, tensor) for path, tensor in found]
        name, window = self.window(values.layout(leaves, begin))
        for leaf, (_, tensor) in zip(leaves, found):
            values.view(window, leaf).copy_(tensor)
        return name, {"tree": tree, "leaves": leaves}

    def call(self, module: int, inputs, room: int = 1 << 20, **fields):
        """(outputs rebuilt, reply)."""
        window, value = self.place(inputs)
        out, target = self.window(room)
        target.flat.fill_(0xA5)
        reply = self.ask(
            "call", module=module, window=window, inputs=value, out=out,
            region={"offset": 0, "bytes": room}, **fields,
        )
        result = values.tensors_of(target, reply["outputs"])
        self.last_inputs = values.tensors_of(self.windows[window], value)
        return result, reply

    def give_weights(self, module: int, tensors: dict, kinds: dict | None = None) -> dict:
        leaves = [
            values.describe(name, tensor) | {"name": name, "kind": (kinds or {}).get(name, "parameter")}
            for name, tensor in tensors.items()
        ]
        name, window = self.window(values.layout(leaves))
        for leaf, tensor in zip(leaves, tensors.values()):
            values.view(window, leaf).copy_(tensor)
        return self.ask("weights", module=module, window=name, leaves=leaves)

    def close(self) -> None:
        self.socket.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


__all__ = ["Runner", "Refused", "SOURCE", "torch"]
