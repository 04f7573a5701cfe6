#!/usr/bin/env python3
"""Judges every kernel of examples/ on the virtual GPU and on a real one and compares the verdicts.

usage: compare_examples.py FIEL SOURCE_DIR [--device cuda:0] [--jobs N] [--table FILE] [--cuda-only]
exit 0 as expected, 1 not, 77 no GPU here (skipped)

A kernel must be accepted on both or on neither. Where only the virtual GPU can see the fault (a race,
an access just outside), expect.toml names what the real one says: `cuda_status`.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from judge_examples import read_expectations  # noqa: E402


def entries(source):
    for path in sorted((source / "examples").glob("*/expect.toml")):
        expectations = read_expectations(path)
        for kernel in expectations["kernel"]:
            yield expectations["task"], f"examples/{path.parent.name}/{kernel['file']}", kernel


def judge(fiel, source, task, kernel, device, arguments):
    words = [fiel, "judge", task, kernel, "--json", "--seed", "20", "--device", device,
             "--time-budget", "0"] + arguments  # only whether it is right
    begun = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, cwd=source, stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - begun
    try:
        verdict = json.loads(done.stdout)
    except ValueError:
        verdict = {"status": "none", "accepted": None, "findings": [],
                   "reason": f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"}
    return verdict | {"seconds": seconds}


def codes(verdict):
    return ", ".join(sorted({f["code"] for f in verdict["findings"] if f["grade"] == "error"}))


def statuses(expected, device):
    value = expected["status"]
    if device != "virtual":
        value = expected.get("cuda_status", value)
    return [value] if isinstance(value, str) else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fiel")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--cuda-only", action="store_true")
    options = parser.parse_args()
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode:
        print("skipped: nvidia-smi finds no GPU")
        return 77
    devices = [options.device] if options.cuda_only else ["virtual", options.device]
    jobs = {}
    # The virtual GPU uses all cores of one judgement; a real one is shared by a few at a time.
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for number, (task, kernel, expected) in enumerate(entries(options.source)):
            for device in devices:
                jobs[number, device] = pool.submit(judge, options.fiel, options.source, task, kernel,
                                                   device, expected.get("arguments", []))
    failures, rows = 0, []
    for number, (task, kernel, expected) in enumerate(entries(options.source)):
        cells = [kernel.removeprefix("examples/") + "".join(" " + a for a in expected.get("arguments", []))]
        for device in devices:
            verdict = jobs[number, device].result()
            accepted = [s == "correct" for s in statuses(expected, device)]
            if verdict["accepted"] not in accepted:
                failures += 1
                print(f"FAILED  {cells[0]} on {device}: {verdict['status']}: {verdict['reason']}")
            seen = codes(verdict)
            cells.append(verdict["status"] + (f" ({seen})" if seen else ""))
            cells.append(f"{verdict['seconds']:.1f}")
        print("| " + " | ".join(cells) + " |", flush=True)  # a run that is cut off tells what it knows
        rows.append(cells)
    heads = ["kernel"] + [h for d in devices for h in (d, "s")]
    lines = ["| " + " | ".join(cells) + " |" for cells in [heads, ["---"] * len(heads)] + rows]
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")
    print(f"{len(rows)} kernels, {failures} verdicts not as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
