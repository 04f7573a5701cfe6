"""All of KernelBench's references against themselves, over any number of GPUs, in pieces that add up.

    python3 bench/kernelbench/campaign.py --kernelbench CHECKOUT --fiel build/release/fiel --out OUT \
        [--devices cuda:0,cuda:1] [--processes 3] [--levels 1,2,3] [--only level1/19,level2/36] [--seconds 540]
        [-- MORE WORDS FOR fiel judge]

Called again with the same OUT and as many processes in all it goes on where it was, also after a kill: the evidence is
the store OUT/fiel.db, one run a process. Afterwards OUT/baselines.csv has one row a task, named level1/23 and so on, and the summary on
stdout says how many references are right, how many of these are the same as themselves, and what the rest is.
Judgements of one GPU take turns where they time and work side by side where they do not (docs/timing.md), which
is what --processes is for. Exit code 130: not all tasks were judged.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SETTLE_S = 20  # what fiel needs to end after its --stop-after


def tasks_of(checkout: Path, levels, only):
    for level in levels:
        files = (checkout / "KernelBench" / f"level{level}").glob("*.py")
        for file in sorted(files, key=lambda f: int(f.name.split("_")[0])):
            if not only or f"level{level}/{file.name.split('_')[0]}" in only:
                yield file


def shards_of(tasks, folder: Path, devices, processes):
    """(name, device, folder of links) a process. Neighbours cost alike: they are dealt out in turn."""
    count = len(devices) * processes
    for k in range(count):
        shard = folder / f"process-{k}"
        for task in tasks[k::count]:
            link = shard / task.parent.name / task.name
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists():
                link.symlink_to(task.resolve())
        if shard.exists():
            yield f"kernelbench-{k}", devices[k % len(devices)], shard


def run(fiel, out, shards, seconds, more):
    environment = {**os.environ, "FIEL_STORE": str(out), "NO_COLOR": "1",
                   "TORCHINDUCTOR_COMPILE_THREADS": os.environ.get("TORCHINDUCTOR_COMPILE_THREADS", "2")}
    known = subprocess.run([fiel, "runs"], env=environment, capture_output=True, text=True).stdout
    started = []
    with open(out / "campaign.log", "a") as log:
        for name, device, shard in shards:
            words = ["--resume", name] if name in known else ["--self", "--tasks", str(shard), "--run", name]
            words += ["--device", device, "--stop-after", str(max(1, seconds - SETTLE_S)), "--jsonl", "--exit-zero"]
            started.append(subprocess.Popen([fiel, "judge", *words, *more], env=environment, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log))
        end = time.monotonic() + seconds
        for process in started:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.terminate()  # the verdict at work is lost, and only that
        for process in started:
            process.wait()
    return [p.returncode for p in started]


def table(fiel, out, shards):
    header, rows = [], []
    for name, _, _ in shards:
        made = subprocess.run([fiel, "export", name, "--format", "baselines"], capture_output=True, text=True,
                              env={**os.environ, "FIEL_STORE": str(out)})
        lines = list(csv.reader(made.stdout.splitlines()))
        if lines:
            header, rows = lines[0], rows + lines[1:]
    rows.sort(key=lambda row: [int(part) if part.isdigit() else part for part in row[0].removeprefix("level").split("/")])
    with open(out / "baselines.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return [dict(zip(header, row)) for row in rows]


def number(text):
    return float(text) if text else None


def summary(rows, wanted):
    print(f"{len(rows)} of {wanted} tasks judged: " + ", ".join(f"{n} {s}" for s, n in Counter(r["status"] for r in rows).items()))
    timed = [r for r in rows if r["status"] == "correct" and r["control_ratio"]]
    holds = [r for r in timed if number(r["control_low"]) <= 1 <= number(r["control_high"])]
    long = [r for r in timed if (number(r["eager_default_ms"]) or 0) >= 1]
    sharp = [r for r in long if number(r["control_high"]) - number(r["control_low"]) <= 0.02]
    print(f"timed: {len(timed)}; the interval of the ratio to itself holds 1.00 in {len(holds)}; "
          f"of {len(long)} that take at least 1 ms its half-width is at most 1 % in {len(sharp)}")
    for r in rows:
        odd = r["status"] != "correct" or not r["control_ratio"] or r not in holds or (r in long and r not in sharp)
        if odd:
            print(f"  {r['task']}: {r['status']} {r['control_ratio']} [{r['control_low']}, {r['control_high']}] {r['note'][:160]}")


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--kernelbench", type=Path, required=True)
    words.add_argument("--fiel", default="build/release/fiel")
    words.add_argument("--out", type=Path, required=True)
    words.add_argument("--devices", default="cuda:0")
    words.add_argument("--processes", type=int, default=3, help="a device")
    words.add_argument("--levels", default="1,2,3")
    words.add_argument("--only", default="")
    words.add_argument("--seconds", type=int, default=540)
    words.add_argument("more", nargs="*", help="for fiel judge")
    given = words.parse_args()
    only = set(filter(None, given.only.split(",")))
    tasks = list(tasks_of(given.kernelbench, given.levels.split(","), only))
    if not tasks:
        sys.exit(f"campaign: no task under {given.kernelbench}/KernelBench")
    given.out.mkdir(parents=True, exist_ok=True)
    out, fiel = given.out.resolve(), str(Path(given.fiel).resolve())
    # The same place each time: a run finds its tasks where it left them.
    links = Path(tempfile.gettempdir()) / "fiel-kernelbench"
    shards = list(shards_of(tasks, links, given.devices.split(","), given.processes))
    codes = run(fiel, out, shards, given.seconds, given.more)
    rows = table(fiel, out, shards)
    summary(rows, len(tasks))
    return 130 if len(rows) < len(tasks) or 130 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main())
