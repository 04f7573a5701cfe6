"""A second process of ours in a timed loop, to measure what changing processes costs.

    partner = Partner("cuda:0")      # starts importing at once
    partner.gaps(60)                 # [wall − device, in ns]
    partner.close()
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import torch

from .. import control
from ..window import Window
from .flush import CacheFlush
from .slots import SlotSet
from .timed_call import TimedRunner

_ELEMENTS = 1024
_ENTRY_TIMEOUT_NS, _CALL_TIMEOUT_NS = 60_000_000_000, 5_000_000_000


class Partner:
    def __init__(self, device: str):
        leaf = {"path": "", "dtype": "float32", "shape": [_ELEMENTS], "stride": [1]}
        value = {"tree": {"leaf": 0}, "leaves": [leaf]}
        slots = SlotSet(value, value, 1)
        self._windows = [
            Window.create(device, n) for n in (slots.inputs_bytes, slots.outputs_bytes)
        ]
        slots.open(*self._windows)
        page = control.create_page()
        self._process = self._start(device, page, slots.layout)
        self.runner = TimedRunner(control.ControlPage(page), slots, True, device)
        self._flush, self._device = CacheFlush(device), device

    def _start(self, device: str, page: int, layout: list):
        shared = [page, *(w.descriptor for w in self._windows)]
        package = Path(__file__).parents[2]  # a folder, or the archive that the judge carries
        arguments = [page, *(n for w in self._windows for n in (w.bytes, w.descriptor))]
        return subprocess.Popen(
            [sys.executable, "-m", "fiel_worker.oracle.partner", device, *map(str, arguments),
             json.dumps(layout)],
            pass_fds=shared, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(package)},
        )

    def gaps(self, calls: int) -> list[float]:
        self.runner.enter(_ENTRY_TIMEOUT_NS, lambda: self._process.poll() is None)
        generator = torch.Generator(self._device)
        found = []
        for i in range(calls + 5):
            if self.runner.ended:
                return []

            def prepare():
                self.runner.snapshot.draw([0], generator)
                self.runner.decoys.write([0], lambda i, inputs: None, generator)
                self._flush()

            reveal = self.runner.decoys.reveal
            times = self.runner.call(0, 1, _CALL_TIMEOUT_NS, prepare, reveal)
            if i >= 5:
                found.append(times["wall_ns"] - times["device_ns"])
        return found

    def close(self) -> None:
        self.runner.leave()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for window in self._windows:
            window.close()


def main() -> None:
    from ..runner.timed import TimedLoop, open_slots

    device, page = sys.argv[1], int(sys.argv[2])
    sizes = [int(a) for a in sys.argv[3:7]]

    class Mapped:
        windows = {1: Window.adopt(device, *sizes[:2]), 2: Window.adopt(device, *sizes[2:])}
        window = windows.get

    described = {"inputs_window": 1, "outputs_window": 2, "slots": json.loads(sys.argv[7])}
    slots = open_slots(Mapped(), described)
    TimedLoop(control.ControlPage(page), torch.relu, slots, device).run()


if __name__ == "__main__":
    main()
    os._exit(0)
