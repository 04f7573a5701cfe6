"""Counts what kernels do on the virtual GPU and on a real one, and compares.

    measure.py --fiel FILE --nvcc FILE --ncu FILE --out DIR [--limit-s 300] [--device cuda:0]

Judges each case of cases.json on both, profiles it on the virtual GPU, and runs one call of it, on the same
inputs, under ncu. Writes DIR/counters.md, DIR/h200.json (golden numbers of what was counted) and DIR/log/.
Whatever fails is a row. Exit code 0 all agree, 1 something differs or failed.
"""
import argparse
import concurrent.futures
import datetime
import json
import pathlib
import re
import subprocess
import sys
import time

import comparing
import ncu

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SEED = "1"


def slug(name: str) -> str:
    return name.replace(" ", "_")


def task_at(text: str, shape: dict) -> str:
    """The task with one shape set, `counters`, instead of its own."""
    sizes = ", ".join(f"{symbol} = {extent}" for symbol, extent in shape.items())
    own = re.compile(r"^\[shapes\]\n(?:(?!\[).*\n?)*", re.MULTILINE)
    if not own.search(text):
        raise ValueError("the task has no [shapes]")
    return own.sub(lambda _: f"[shapes]\ncounters = {{ {sizes} }}\n", text, count=1)


class Measurement:
    """All cases within one time limit. Each step's output is a file below log/."""

    def __init__(self, options):
        self.options, self.end = options, time.monotonic() + options.limit_s
        self.out = options.out.resolve()
        self.metrics = list(ncu.METRICS)
        for folder in ("log", "work"):
            (self.out / folder).mkdir(parents=True, exist_ok=True)

    def run(self, log: str, words: list, most_s: float = 60) -> subprocess.CompletedProcess | None:
        """None where there is no time left, or where it took too long."""
        left = min(most_s, self.end - time.monotonic())
        if left <= 1:
            return None
        try:
            done = subprocess.run([str(w) for w in words], capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, timeout=left, cwd=ROOT)
        except (subprocess.TimeoutExpired, OSError):
            return None
        (self.out / "log" / log).write_text(done.stdout + done.stderr)
        return done

    def folder(self, case: dict) -> pathlib.Path:
        return self.out / "work" / slug(case["name"])

    def judge(self, case: dict, device: str) -> str:
        name = f"{slug(case['name'])}.{device.replace(':', '')}.json"
        done = self.run(name, [self.options.fiel, "judge", self.folder(case) / "task.toml", case["kernel"],
                               "--device", device, "--budget", "quick", "--shapes", "counters", "--seed", SEED,
                               "--json", "--no-store", "--time-budget", "0"], 40)
        if done is None:
            return "no time left"
        try:
            return json.loads(done.stdout)["status"]
        except (ValueError, KeyError):
            return f"exit code {done.returncode}"

    def profile(self, case: dict) -> dict | None:
        done = self.run(f"{slug(case['name'])}.profile.json",
                        [self.options.fiel, "profile", self.folder(case) / "task.toml", case["kernel"],
                         "--shapes", "counters", "--seed", SEED, "--json", "--save-inputs", self.folder(case)], 60)
        try:
            return json.loads(done.stdout)["profiles"][0] if done else None
        except (ValueError, KeyError, IndexError):
            return None

    def build(self, case: dict) -> bool:
        done = self.run(f"{slug(case['name'])}.nvcc",
                        [self.options.nvcc, "-std=c++17", "-O3", "-lineinfo", f"-arch={self.options.arch}",
                         f"-I{ROOT}/include", ROOT / "src/worker/standalone/counted_call.cu", case["kernel"], "-o",
                         self.folder(case) / "driver"], 60)
        return done is not None and done.returncode == 0

    def count(self, case: dict) -> tuple[dict, str]:
        """Hardware's numbers, and what is to be said about them. Counters that this GPU does not have
        are left out from then on."""
        program = [self.folder(case) / "driver", self.folder(case) / "counters"]
        for _ in range(4):
            done = self.run(f"{slug(case['name'])}.ncu.csv", ncu.command(self.options.ncu, program, self.metrics), 60)
            if done is None:
                return {}, "ncu: no time left"
            unknown = ncu.unknown_metrics(done.stdout + done.stderr, self.metrics)
            if not unknown:
                break
            self.metrics = [m for m in self.metrics if m not in unknown]
        launches = ncu.read_csv(done.stdout)
        if not launches:
            return {}, ncu.complaint(done.stdout + done.stderr) or f"ncu: exit code {done.returncode}, no launch"
        values, lacking = ncu.hardware(launches)
        note = f"{len(launches)} launches" if len(launches) != 1 else ""
        return values, note + (f" without {', '.join(lacking)}" if lacking else "")

    def prepare(self, case: dict) -> str:
        """Why the case cannot be run; empty where it can."""
        try:
            self.folder(case).mkdir(exist_ok=True)
            text = task_at((ROOT / case["task"]).read_text(), case["shape"])
            (self.folder(case) / "task.toml").write_text(text)
        except (OSError, ValueError) as error:
            return str(error)
        return ""


def beside_each_other(m: Measurement, cases: list[dict]) -> dict:
    """Everything that needs no counters. The virtual GPU uses all cores of one judgement; the real one is
    shared by a few."""
    steps = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=6) as pool, \
            concurrent.futures.ThreadPoolExecutor(max_workers=3) as gpu:
        for case in cases:
            name = case["name"]
            steps[name, "build"] = pool.submit(m.build, case)
            steps[name, "profile"] = pool.submit(m.profile, case)
            steps[name, "virtual"] = pool.submit(m.judge, case, "virtual")
            steps[name, "cuda"] = gpu.submit(m.judge, case, m.options.device)
    return {key: step.exception() or step.result() for key, step in steps.items()}


def result_of(m: Measurement, plan: dict, case: dict, done: dict) -> tuple[dict, dict]:
    """A row of the table, and golden numbers where there are any."""
    name, notes, hardware = case["name"], [], {}
    profile = done[name, "profile"]
    if done[name, "build"] is not True:
        notes.append("the driver does not build")
    elif not isinstance(profile, dict):
        notes.append("no profile")
    else:
        hardware, note = m.count(case)
        notes.append(note)
    ours = comparing.virtual(profile) if isinstance(profile, dict) else {}
    result = {"case": name, "virtual_status": str(done[name, "virtual"]), "cuda_status": str(done[name, "cuda"])}
    if result["virtual_status"] != result["cuda_status"]:
        notes.insert(0, "JUDGED OTHERWISE")
    result["note"] = "; ".join(note for note in notes if note)
    result["rows"] = comparing.compare(name, ours, hardware, plan)
    return result, {"shape": case["shape"], "hardware": hardware, "virtual": ours} if hardware else {}


def is_good(result: dict) -> bool:
    same = result["virtual_status"] == result["cuda_status"] == "correct"
    return same and bool(result["rows"]) and not comparing.failures(result["rows"])


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("fiel", "nvcc", "ncu"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--limit-s", type=float, default=300)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--about", default="")
    options = parser.parse_args()
    plan = json.loads((HERE / "cases.json").read_text())
    m, begun = Measurement(options), time.monotonic()
    broken = {case["name"]: why for case in plan["cases"] if (why := m.prepare(case))}
    cases = [case for case in plan["cases"] if case["name"] not in broken]
    done = beside_each_other(m, cases)
    golden = {"schema_version": 1, "about": options.about, "date": datetime.date.today().isoformat(), "cases": {}}
    results = [{"case": name, "virtual_status": "-", "cuda_status": "-", "note": why, "rows": []}
               for name, why in broken.items()]
    for case in cases:
        result, numbers = result_of(m, plan, case, done)
        results.append(result)
        if numbers:
            golden["cases"][case["name"]] = numbers
    about = f"{options.about}, {golden['date']}, {time.monotonic() - begun:.0f} s"
    text = comparing.table(results, about)
    (m.out / "counters.md").write_text(text)
    if golden["cases"]:
        (m.out / "h200.json").write_text(json.dumps(golden, indent=1) + "\n")
    print(text)
    return 0 if all(is_good(result) for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
