"""All of KernelBench's references against themselves, over any number of GPUs, in pieces that add up.

    python3 bench/kernelbench/campaign.py --kernelbench CHECKOUT --fiel build/release/fiel --out OUT \
        [--devices cuda:0,cuda:1] [--processes 6] [--levels 1,2,3] [--only level1/19,level2/36] [--seconds 540] [--time-budget 5]
        [-- MORE WORDS FOR fiel judge]

Called again with the same OUT and the same number of processes it goes on where it was, also after a kill and on
another number of GPUs: the evidence is the store OUT/fiel.db, one run a process. OUT/baselines.csv, written again
every half minute, has one row a task, named level1/23 and so on; the summary on stdout says how many references are
right, how many of these are the same as themselves, and what the rest is. Judgements of one GPU take turns where
they time and work side by side where they do not (docs/timing.md), which is what several processes a GPU are for.
Exit code 130: not all tasks were judged.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

EACH = ["--time-limit", "150", "--baseline-cache", "off"]
NEIGHBOURS = 3  # tasks of one deal
TABLE_EVERY_S = 30
KILL_AFTER_S = 15  # from SIGTERM


class Campaign:
    def __init__(self, given):
        self.out, self.fiel = given.out.resolve(), str(Path(given.fiel).resolve())
        self.more, self.devices = ["--time-budget", str(given.time_budget), *given.more], given.devices.split(",")
        self.environment = {"TORCHINDUCTOR_COMPILE_THREADS": "2", "OMP_NUM_THREADS": "4", **os.environ,
                            "FIEL_STORE": str(self.out), "NO_COLOR": "1"}
        self.out.mkdir(parents=True, exist_ok=True)

    def ask(self, *words):
        return subprocess.run([self.fiel, *words], env=self.environment, capture_output=True, text=True)

    def known_runs(self):
        if not (self.out / "fiel.db").exists():
            return set()
        said = self.ask("runs", "--json", "--last", "1000")
        if said.returncode != 0:
            sys.exit(f"campaign: {self.out}/fiel.db cannot be read: {said.stderr.strip()}")
        return {run["name"] for run in json.loads(said.stdout)["runs"]}

    def shards(self, tasks, processes):
        """(run, device, folder of links) a process. Neighbours cost alike, so they are dealt out in turn; a few at a
        time, or all processes would want the memory of the largest at once. A run finds its tasks where it left them,
        so the links are always in one place."""
        folder = Path(tempfile.gettempdir()) / "fiel-kernelbench"
        shutil.rmtree(folder, ignore_errors=True)
        processes = min(processes, len(tasks))
        for k in range(processes):
            shard = folder / f"process-{k}"
            for task in (t for i, t in enumerate(tasks) if i // NEIGHBOURS % processes == k):
                link = shard / task.parent.name / task.name
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(task.resolve())
            yield f"kernelbench-{k}", self.devices[k % len(self.devices)], shard

    def run(self, shards, known, end):
        started = []
        with open(self.out / "campaign.log", "a") as log:
            for name, device, shard in shards:
                words = ["--resume", name] if name in known else ["--self", "--tasks", str(shard), "--run", name]
                words += ["--device", device, "--jsonl", "--exit-zero", *EACH, *self.more]
                started.append(subprocess.Popen([self.fiel, "judge", *words], env=self.environment, stderr=log,
                                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
            table_at = time.monotonic() + TABLE_EVERY_S
            while time.monotonic() < end and any(p.poll() is None for p in started):
                time.sleep(0.5)
                if time.monotonic() > table_at:
                    rows = self.table(shards)
                    print(f"{len(rows)} judged, {max(0, end - time.monotonic()):.0f} s left", flush=True)
                    table_at = time.monotonic() + TABLE_EVERY_S
            stop(started)
        return [p.returncode for p in started]

    def table(self, shards):
        header, rows = [], []
        for name, _, _ in shards:
            lines = list(csv.reader(self.ask("export", name, "--format", "baselines").stdout.splitlines()))
            if lines:
                header, rows = lines[0], rows + lines[1:]
        rows.sort(key=lambda row: [int(p) if p.isdigit() else p for p in row[0].removeprefix("level").split("/")])
        new = self.out / "baselines.csv.new"
        with open(new, "w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        os.replace(new, self.out / "baselines.csv")
        return [dict(zip(header, row)) for row in rows]


def stop(processes):
    """Ends what still runs: the verdicts at work are lost, and only those."""
    for process in processes:
        process.terminate()
    end = time.monotonic() + KILL_AFTER_S
    for process in processes:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def tasks_of(checkout: Path, levels, only):
    for level in levels:
        files = (checkout / "KernelBench" / f"level{level}").glob("*.py")
        for file in sorted(files, key=lambda f: int(f.name.split("_")[0])):
            if not only or f"level{level}/{file.name.split('_')[0]}" in only:
                yield file


def number(text):
    return float(text) if text else None


def summary(rows, wanted):
    print(f"{len(rows)} of {wanted} tasks judged: "
          + ", ".join(f"{n} {s}" for s, n in Counter(r["status"] for r in rows).most_common()))
    timed = [r for r in rows if r["status"] == "correct" and r["control_ratio"]]
    holds = [r for r in timed if number(r["control_low"]) <= 1 <= number(r["control_high"])]
    long = [r for r in timed if (number(r["eager_default_ms"]) or 0) >= 1]
    sharp = [r for r in long if number(r["control_high"]) - number(r["control_low"]) <= 0.02]
    print(f"timed: {len(timed)}; the interval of the ratio to itself holds 1.00 in {len(holds)}; "
          f"of {len(long)} that take at least 1 ms its half-width is at most 1 % in {len(sharp)}")
    for r in rows:
        if r not in holds or (r in long and r not in sharp):
            interval = f"{r['control_ratio']} [{r['control_low']}, {r['control_high']}]" if r["control_ratio"] else "untimed"
            print(f"  {r['task']}: {r['status']}, {interval}; {r['note'][:160]}")


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--kernelbench", type=Path, required=True)
    words.add_argument("--fiel", default="build/release/fiel")
    words.add_argument("--out", type=Path, required=True)
    words.add_argument("--devices", default="cuda:0")
    words.add_argument("--processes", type=int, default=6, help="in all")
    words.add_argument("--levels", default="1,2,3")
    words.add_argument("--only", default="")
    words.add_argument("--seconds", type=int, default=540)
    words.add_argument("--time-budget", type=int, default=5, help="seconds of timing a task; 0: answers alone")
    words.add_argument("more", nargs="*", help="for fiel judge")
    given = words.parse_args()
    end = time.monotonic() + given.seconds - KILL_AFTER_S
    tasks = list(tasks_of(given.kernelbench, given.levels.split(","), set(filter(None, given.only.split(",")))))
    if not tasks:
        sys.exit(f"campaign: no such task under {given.kernelbench}/KernelBench")
    campaign = Campaign(given)
    known = campaign.known_runs()
    shards = list(campaign.shards(tasks, given.processes))
    if known and known != {name for name, _, _ in shards}:
        sys.exit(f"campaign: {given.out} holds {len(known)} runs of other tasks; go on with --processes {len(known)} "
                 "and the same tasks, or name another folder")
    codes = campaign.run(shards, known, end)
    rows = campaign.table(shards)
    summary(rows, len(tasks))
    return 130 if len(rows) < len(tasks) else max(abs(code) for code in codes)


if __name__ == "__main__":
    sys.exit(main())
