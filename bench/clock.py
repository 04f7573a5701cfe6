"""Figures of docs/timing.md: the clock's own, on one device, with real runner processes.

    python3 bench/clock.py [cuda:0|cpu] [--rounds 60] [--seconds 600] [--all] [--json]

A table of the reference against itself, held in batches and as single calls; of files that forge
their events or say `done` too early. --all adds copies of 1 KB to 256 MB cold, warm and as CUDA graphs,
and what `fiel doctor --calibrate` measures. What does not fit into --seconds is left out.
"""

import argparse
import dataclasses
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

CHAIN = """for _ in range(15):
            x = torch.relu(x) + 0.001
        return [x]"""  # 30 launches
BODIES = {
    "copy": "return [x.clone()]", "relu": "return [torch.relu(x)]", "matmul": "return [x @ y]",
    "chain": CHAIN,
}
TASK = """
import torch
class {name}(torch.nn.Module):
    def forward(self, x, y=None):
        {body}
def get_inputs():
    return []
def get_init_inputs():
    return []
"""
# Hostile files: events that say nothing happened; then no waiting for the device either.
EVENTS = "torch.cuda.Event.elapsed_time = lambda *_: 1e-6\n"
EARLY = EVENTS + "torch.cuda.synchronize = lambda *_: None\n"


def chain(x):
    for _ in range(15):
        x = torch.relu(x) + 0.001
    return x


REFERENCES = {"copy": lambda x: x, "relu": torch.relu, "matmul": torch.matmul, "chain": chain}


@dataclasses.dataclass
class Case:
    name: str
    kind: str
    shape: list
    calls: int = 1
    held: bool = False
    forged: str = ""
    compile: str = "none"
    graph: bool = False
    cold: bool = True


class Pair:
    """Two runner processes, both with the same reference: what differs is the clock's own."""

    def __init__(self, device: str):
        self.device, self.folder = device, tempfile.mkdtemp(prefix="fiel-bench-")
        # One cache of compiled graphs for all processes of this run: each graph is compiled once.
        environment = {"TORCHINDUCTOR_CACHE_DIR": f"{self.folder}/inductor"}
        # A forged file spoils its process for good: one process for each kind.
        names = ["first", "second", "compiler", EVENTS, EARLY]
        started = {}

        def start(name: str) -> None:
            started[name] = Runner(device, environment)

        starts = [threading.Thread(target=start, args=(name,)) for name in names]
        for thread in starts:
            thread.start()
        for thread in starts:
            thread.join()
        self.runners, self.compiler = [started["first"], started["second"]], started["compiler"]
        self.hostile = {forged: started[forged] for forged in (EVENTS, EARLY)}

    def compile_ahead(self, case: Case) -> threading.Thread:
        """In a third process, which fills the cache."""
        path = self._file(case.kind, "Model")

        def work() -> None:
            module = self.compiler.load(path, policy="fp32", compile=case.compile)["module"]
            x = torch.randn(case.shape, device=self.device)
            for _ in range(2):
                self.compiler.call(module, [x], room=(x.numel() + 4096) * 4)
            self.compiler.close()

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def _file(self, kind: str, name: str, begin: str = "") -> str:
        path = Path(self.folder, f"{kind}_{name}_{len(begin)}.py")
        path.write_text("import torch\n" + begin + TASK.format(name=name, body=BODIES[kind]))
        return str(path)

    def time(self, case: Case, rounds: int) -> dict:
        oracle = SimpleOracle(
            REFERENCES[case.kind], case.shape, 2 if case.kind == "matmul" else 1, self.device
        )
        path = self._file(case.kind, "Model")
        files = [{"kind": "reference", "path": path, "policy": "fp32", "compile": case.compile}] * 2
        if case.forged:
            forged = self._file(case.kind, "ModelNew", case.forged)
            files[1] = {"kind": "module", "path": forged, "task_path": path, "compile": "none"}
        slots = 2 * case.calls
        runners = [self.runners[0], self.hostile.get(case.forged, self.runners[1])]
        entered = [self._enter(oracle, r, f, slots, case.graph) for r, f in zip(runners, files)]
        pages = [page for page, *_ in entered]
        reply = oracle.op_time(
            {
                "case": 1, "seed": 20261130, "warmup": 5, "verify_share": 0.05, "budget_ms": 20_000,
                "samples_max": rounds, "calls": case.calls, "held": case.held, "cold": case.cold,
                "runners": [
                    {"slots": laid["slots"], "control": i, "trusted": i == 0}
                    for i, (_, laid, _, _) in enumerate(entered)
                ],
            },
            Descriptors(pages),
        )
        for (page, _, thread, names), runner in zip(entered, runners):
            thread.join()
            os.close(page)
            for name in names:
                runner.ask("drop_window", window=name)
                runner.windows.pop(name).close()
        return reply

    def _enter(self, oracle, runner, file, count, graph):
        module = runner.ask("load", init_seed=1, mode="eval", **file)["module"]
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
    by_round = {s["round"]: s["device_ns"] for s in theirs}
    ratios = sorted(
        s["device_ns"] / by_round[s["round"]] for s in ours if by_round.get(s["round"], 0) > 0
    )
    half = 1.29 * len(ratios) ** 0.5  # ranks of a 99 % interval of the median
    at = lambda rank: ratios[max(0, min(len(ratios) - 1, round(rank)))] if ratios else 0.0
    us = lambda ns: round(ns / 1e3, 2)
    middle = lambda samples, key: statistics.median(s[key] for s in samples) if samples else 0.0
    gaps = sorted(s["wall_ns"] - s["device_ns"] * calls for s in ours)
    gap = gaps[len(gaps) // 2]
    return {
        "mode": reply["mode"], "why": reply["mode_why"], "calls": calls, "rounds": len(ratios),
        "device_us": us(middle(ours, "device_ns")), "host_us": us(middle(ours, "host_ns")),
        "wall_us": us(middle(ours, "wall_ns")),
        "ratio": [round(at(len(ratios) / 2 + d), 4) for d in (-half, 0, half)],
        "gap_us": [us(gaps[int(q * (len(gaps) - 1))]) for q in (0.05, 0.5, 0.95)],
        "second": {
            "claims_us": us(middle(theirs, "device_ns")), "wall_us": us(middle(theirs, "wall_ns")),
            "bound_us": us((middle(theirs, "wall_ns") - gap) / calls),
            "tail_us": us(middle(theirs, "tail_ns")), "failed": sum(s["failed"] for s in theirs),
            "samples": len(theirs), "ended": reply["runners"][1]["ended"],
        },
        "failed": sum(s["failed"] for s in ours), "verified": sum(s["verified"] for s in ours),
        "tail_us": us(middle(ours, "tail_ns")), "flush_us": us(middle(ours, "flush_ns")),
        "throttle": max((s["throttle"] for s in ours + theirs), default=0),
    }


def row(name: str, f: dict) -> str:
    second = f["second"]
    low, value, high = f["ratio"]
    g5, g50, g95 = f["gap_us"]
    return (
        f"{name:34}{f['mode'][:6]:>7}{f['calls']:4}{f['rounds']:4}{f['device_us']:9}{f['host_us']:8}"
        f"  {value:6} [{low}, {high}]  {g5:.0f}/{g50:.0f}/{g95:.0f}  {second['bound_us']:9}"
        f"{f['tail_us']:7}{second['tail_us']:7}{f['failed']:4}{second['failed']:4} {f['why'] or ''}"
        f"{second['ended'] or ''}"
    )


HEAD = (
    f"{'case':34}{'mode':>7}{'K':>4}{'n':>4}{'dev us':>9}{'host us':>8}  ratio of two [99 %]"
    "  gap us 5/50/95 %  2nd's bound us, tails us, failed"
)


def cases(on_gpu: bool) -> list[Case]:
    if not on_gpu:  # held calls need a device that can wait
        small = [8, 8192]
        return [
            Case("relu 256 KB", "relu", small, 4), Case("relu 256 KB, held", "relu", small, 4, True),
            Case("chain", "chain", small, 2, forged=EVENTS),
        ]
    large, mb4 = [4096, 4096], [1 << 20]
    found = [
        Case("matmul 4096, forged events", "matmul", large, 2, True, EVENTS),
        Case("matmul 4096, early done", "matmul", large, 2, True, EARLY),
        Case("matmul 4096, early done", "matmul", large, 1, False, EARLY),
        Case("relu 4 MB, forged events", "relu", mb4, 64, True, EVENTS),
        Case("relu 4 MB, forged events", "relu", mb4, 1, False, EVENTS),
        Case("relu 4 MB, early done", "relu", mb4, 64, True, EARLY),
        Case("relu 4 MB", "relu", mb4, 64, True), Case("relu 4 MB", "relu", mb4),
        Case("relu 1 MB", "relu", [1 << 18], 64, True), Case("relu 1 MB", "relu", [1 << 18]),
        Case("relu 64 KB", "relu", [1 << 14], 64, True), Case("relu 64 KB", "relu", [1 << 14]),
        Case("relu 64 MB", "relu", [1 << 24], 8, True), Case("relu 64 MB", "relu", [1 << 24]),
        Case("matmul 1024", "matmul", [1024, 1024], 32, True),
        Case("matmul 1024", "matmul", [1024, 1024]),
        Case("matmul 4096", "matmul", large, 2, True), Case("matmul 4096", "matmul", large),
        Case("relu 4 MB, 240 calls", "relu", mb4, 240, True),
        Case("30 launches, eager", "chain", mb4, 16, True), Case("30 launches, eager", "chain", mb4),
    ]
    for mode in ("default", "reduce-overhead"):
        found += [
            Case(f"30 launches, {mode}", "chain", mb4, 16, True, compile=mode),
            Case(f"30 launches, {mode}", "chain", mb4, compile=mode),
        ]
    return found


def more_cases() -> list[Case]:
    found = []
    for size in (1 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20):
        name = f"copy {size >> 10} KB"
        shape = [size // 4]
        found += [
            Case(f"{name} cold", "copy", shape), Case(f"{name} warm", "copy", shape, cold=False),
            Case(f"{name} cold graph", "copy", shape, graph=True),
        ]
    return found + [Case("relu 2 GB", "relu", [1 << 29])]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("device", nargs="?", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    end, on_gpu = time.monotonic() + options.seconds, options.device.startswith("cuda")
    pair = Pair(options.device)
    wanted = cases(on_gpu)
    compiled = next((c for c in wanted if c.compile != "none"), None)
    ahead = pair.compile_ahead(compiled) if compiled else None
    print(HEAD if not options.json else "", flush=True)
    for case in wanted + (more_cases() if options.all and on_gpu else []):
        if case.compile != "none" and ahead is not None:
            ahead.join()
        left = end - time.monotonic()
        if left < 3:
            print(f"{case.name}: left out, --seconds are over", flush=True)
            continue
        begun = time.monotonic()
        found = figures(pair.time(case, options.rounds))
        found["took_s"] = round(time.monotonic() - begun, 2)
        shown = json.dumps(dataclasses.asdict(case) | found) if options.json else row(case.name, found)
        print(shown, flush=True)
    for runner in [*pair.runners, *pair.hostile.values()]:
        runner.close()
    if options.all:
        measure = type("Measure", (MeasureOperations,), {"device": options.device})()
        print(json.dumps(measure.op_measure({}, None)), flush=True)


if __name__ == "__main__":
    try:
        main()
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code)  # threads wait for runners that will not leave
