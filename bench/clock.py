"""Figures of docs/timing.md: the clock's own, on one device, with real runner processes.

    python3 bench/clock.py [cuda:0|cpu] [rounds]      about a minute on a GPU

Copies of 1 KB to 256 MB cold, warm and as CUDA graphs; relu and a matrix product against themselves;
numerics policies; what `fiel doctor --calibrate` measures. One JSON object a line.
"""

import json
import os
import statistics
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from clock_harness import Descriptors, SimpleOracle, torch  # noqa: E402
from fiel_worker import control  # noqa: E402
from fiel_worker.oracle.measure import MeasureOperations  # noqa: E402
from runner_harness import Runner  # noqa: E402

BODIES = {
    "copy": "return [a[0].clone()]", "relu": "return [torch.relu(a[0])]",
    "matmul": "return [a[0] @ a[1]]",
}
TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, *a):
        {body}
def get_inputs():
    return []
def get_init_inputs():
    return []
"""
# A hostile file: events that say nothing happened, no waiting for the device.
FORGED = """
import torch
torch.cuda.Event.elapsed_time = lambda *_: 1e-6
torch.cuda.synchronize = lambda *_: None
class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return [a @ b]
"""
REFERENCES = {"copy": lambda x: x, "relu": torch.relu, "matmul": torch.matmul}


class Pair:
    """Two runner processes, both with the same reference: what differs is the clock's own."""

    def __init__(self, device: str):
        self.device, self.runners = device, [Runner(device), Runner(device)]
        self.folder = tempfile.mkdtemp(prefix="fiel-bench-")

    def time(self, kind, shape, slots, graph=False, forged="", **options) -> dict:
        oracle = SimpleOracle(
            REFERENCES[kind], shape, 2 if kind == "matmul" else 1, self.device
        )
        path = Path(self.folder, f"{kind}.py")
        path.write_text(TASK.format(body=BODIES[kind]))
        files = [{"kind": "reference", "path": str(path), "policy": "fp32"}] * 2
        if forged:
            Path(self.folder, "forged.py").write_text(forged)
            files[1] = {
                "kind": "module", "path": f"{self.folder}/forged.py", "task_path": str(path),
            }
        entered = [self._enter(oracle, r, f, slots, graph) for r, f in zip(self.runners, files)]
        pages = [page for page, *_ in entered]
        message = {
            "case": 1, "seed": 20261130, "warmup": 5, "verify_share": 0.05, "budget_ms": 20_000,
            "runners": [
                {"slots": laid["slots"], "control": i, "trusted": i == 0}
                for i, (_, laid, _, _) in enumerate(entered)
            ],
        }
        reply = oracle.op_time(message | options, Descriptors(pages))
        for (page, _, thread, names), runner in zip(entered, self.runners):
            thread.join()
            os.close(page)
            for name in names:
                runner.ask("drop_window", window=name)
                runner.windows.pop(name).close()
        return reply

    def _enter(self, oracle, runner, file, count, graph):
        module = runner.ask("load", init_seed=1, mode="eval", compile="none", **file)["module"]
        size = oracle.op_slots({"case": 1, "count": count}, None)
        fields, ours = {"graph": graph}, {}
        for what in ("inputs_window", "outputs_window"):
            ours[what] = oracle.window(size[what.replace("window", "bytes")])
            window = oracle.windows[ours[what]]
            fields[what] = name = max(runner.windows, default=0) + 1
            runner.windows[name] = window
            runner.ask("map_window", [window.descriptor], window=name, bytes=window.bytes)
        laid = oracle.op_slots({"case": 1, "count": count} | ours, None)
        page = control.create_page()
        thread = threading.Thread(
            target=lambda: runner.ask("time", [page], module=module, slots=laid["layout"], **fields)
        )
        thread.start()
        return page, laid, thread, [fields["inputs_window"], fields["outputs_window"]]


def figures(reply: dict) -> dict:
    of = lambda n: [s for s in reply["samples"] if s["runner"] == n]
    calls, ours, theirs = reply["calls"], of(0), of(1)
    ratios = sorted(a["device_ns"] / b["device_ns"] for a, b in zip(ours, theirs))
    half = 1.29 * len(ratios) ** 0.5  # ranks of a 99 % interval of the median
    at = lambda rank: ratios[max(0, min(len(ratios) - 1, round(rank)))]
    gaps = sorted(s["wall_ns"] - s["device_ns"] * calls for s in ours + theirs)
    us = lambda ns: round(ns / 1e3, 2)
    return {
        "calls": calls, "rounds": len(ratios), "failures": len(reply["failures"]),
        "ended": [r["ended"] for r in reply["runners"]],
        "verified": sum(s["verified"] for s in reply["samples"]),
        "device_us": us(statistics.median(s["device_ns"] for s in theirs)),
        "host_us": us(statistics.median(s["host_ns"] for s in theirs)),
        "gap_us": [us(gaps[int(q * (len(gaps) - 1))]) for q in (0.05, 0.5, 0.95)],
        "flush_us": us(statistics.median(s["flush_ns"] for s in theirs)),
        "ratio": [round(at(len(ratios) / 2 + d), 5) for d in (-half, 0, half)],
        "sm_clock_mhz": sorted({s["sm_clock_mhz"] for s in ours + theirs})[-3:],
        "throttle": max(s["throttle"] for s in ours + theirs),
    }


def show(what: str, found: dict) -> None:
    print(json.dumps({"what": what} | found), flush=True)


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda:0"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    on_gpu = device.startswith("cuda")
    pair = Pair(device)
    sizes = [1 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20] if on_gpu else [1 << 10, 1 << 20]
    for size in sizes:
        modes = [("cold", {}), ("warm", {"cold": False})]
        if on_gpu:
            modes.append(("cold graph", {"graph": True}))
        for mode, options in modes:
            begun = time.monotonic()
            reply = pair.time("copy", [size // 4], 1, samples_max=rounds // 3, **options)
            found = figures(reply)
            found["bytes_per_s"] = 2 * size / found["device_us"] * 1e6
            show(f"copy {size >> 10} KB {mode}", found | {"took_s": round(time.monotonic() - begun, 2)})
    cases = [
        ("relu 4 MB", "relu", [1 << 20], 1, 1), ("relu 4 MB", "relu", [1 << 20], 64, 64),
        ("relu 2 GB", "relu", [1 << 29], 1, 1), ("matmul 1024", "matmul", [1024, 1024], 16, 16),
        ("matmul 4096", "matmul", [4096, 4096], 1, 1),
    ]
    if not on_gpu:
        cases = [("relu 4 MB", "relu", [1 << 20], 4, 4), ("matmul 128", "matmul", [128, 128], 2, 2)]
    for name, kind, shape, slots, calls in cases:
        begun = time.monotonic()
        reply = pair.time(kind, shape, slots, calls=calls, samples_max=rounds)
        show(f"{name} against itself", figures(reply) | {"took_s": round(time.monotonic() - begun, 2)})
    for hold_us in (300, 600, 1000, 1500) if on_gpu else (100,):
        reply = pair.time("relu", [1 << 20], 16, calls=16, samples_max=rounds, hold_us=hold_us)
        show(f"relu 4 MB against itself, held {hold_us} us", figures(reply))
    if on_gpu:
        reply = pair.time("matmul", [4096, 4096], 1, forged=FORGED, samples_max=rounds // 3)
        found = figures(reply)
        wall = lambda n: statistics.median(s["wall_ns"] for s in reply["samples"] if s["runner"] == n)
        found |= {"honest_wall_us": wall(0) / 1e3, "forged_wall_us": wall(1) / 1e3}
        show("matmul 4096, forged events and no waiting", found)
    module = pair.runners[0].load(str(Path(pair.folder, "matmul.py")), policy="tf32")["module"]
    window, value = pair.runners[0].place([torch.randn(512, 512, device=device)] * 2)
    show("evidence of a tf32 product", pair.runners[0].ask(
        "evidence", module=module, window=window, inputs=value
    ))
    for runner in pair.runners:
        runner.close()
    begun = time.monotonic()
    measure = type("Measure", (MeasureOperations,), {"device": device})()
    found = measure.op_measure({}, None)
    show("measure", found | {"took_s": round(time.monotonic() - begun, 2)})


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # threads wait for runners that will not leave
