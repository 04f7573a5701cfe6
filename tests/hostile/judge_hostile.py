#!/usr/bin/env python3
"""Judges hostile kernels, each followed by a clean one in the same process of the judge.

usage: judge_hostile.py FIEL GROUP[/CASE] bare|module

A case is a folder of a group: `bare.cu`, `module.py` and an `expect.toml` with

  title   what it does
  bare    statuses that are right for bare.cu on the virtual GPU; `correct` never is
  module  those of module.py in PyTorch on the CPU
  unsaid  what it prints where it got further than it may

Kernels answer zeros, so that accepting one is a mistake; those that answer rightly until they are caught say so.
After the last verdict the exit code is the one of docs/verdicts.md, and no process and no file of the candidates may
be left. Exit code 77: nothing of it can run here.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("exploits", "support")]
import exit_codes  # noqa: E402
import expectation  # noqa: E402
import judge_case  # noqa: E402

KERNELS = {"bare": "bare.cu", "module": "module.py"}
CLEAN = {"bare": ("task.toml", "clean.cu"), "module": ("task.py", "clean.py")}
KEYS = {"title", "bare", "module", "unsaid"}
CALL_TIMEOUT_S = 8
PR_SET_CHILD_SUBREAPER = 36


def read(folder: str) -> dict:
    with open(os.path.join(folder, "expect.toml"), encoding="utf-8") as file:
        found = expectation.parse(file.read())
    problems = [f"unknown key {key}" for key in set(found) - KEYS]
    for carrier, kernel in KERNELS.items():
        if (carrier in found) != os.path.exists(os.path.join(folder, kernel)):
            problems.append(f"{carrier} and {kernel} go together")
        allowed = expectation.STATUSES - {"correct"}
        if set(found.get(carrier, [])) - allowed:
            problems.append(f"{carrier} = {found[carrier]}")
    if problems:
        raise SystemExit(f"{folder}/expect.toml: " + "; ".join(problems))
    return found


def cases(word: str, carrier: str) -> list[str]:
    """The folders of a group, or the one that is named, that have this carrier."""
    group, _, one = word.partition("/")
    names = [one] if one else sorted(os.listdir(os.path.join(HERE, group)))
    folders = [os.path.join(HERE, group, name) for name in names]
    return [f for f in folders if os.path.exists(os.path.join(f, KERNELS[carrier]))]


def judge(fiel: str, folders: list[str], carrier: str, scratch: str) -> tuple[list[dict], int]:
    """The verdicts, a hostile one and a clean one in turn, and the exit code."""
    task, clean = (os.path.join(HERE, name) for name in CLEAN[carrier])
    manifest = os.path.join(scratch, "manifest.jsonl")
    with open(manifest, "w", encoding="utf-8") as file:
        for folder in folders:
            for kernel in (os.path.join(folder, KERNELS[carrier]), clean):
                file.write(json.dumps({"task": task, "kernel": kernel}) + "\n")
    environment = dict(os.environ, TMPDIR=os.path.join(scratch, "tmp"))
    if carrier == "module":
        environment["FIEL_PYTHON"] = judge_case.python_with_torch()
    done = subprocess.run(
        [fiel, "judge", "--manifest", manifest, "--device", "virtual" if carrier == "bare" else "cpu",
         "--budget", "quick", "--seed", "20", "--timeout", str(CALL_TIMEOUT_S), "--no-store", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment)
    if not done.stdout:
        raise SystemExit(f"no verdicts, exit code {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)["verdicts"], done.returncode


def complaints(folder: str, carrier: str, hostile: dict, clean: dict):
    expected = read(folder)
    if hostile["status"] not in expected[carrier]:
        yield f"status {hostile['status']}, expected {expected[carrier]}: {hostile['reason']}"
    if expected.get("unsaid") and expected["unsaid"] in hostile["candidate_output"]:
        yield f"it printed {hostile['candidate_output'][:200]!r}"
    if clean["status"] != "correct":
        yield f"the clean kernel after it is {clean['status']}: {clean['reason']}"


def children() -> list[str]:
    """Processes that were handed to us because those that started them are gone."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().rsplit(")", 1)
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) == os.getpid() and state not in "ZX":
            found.append(name + ")")
    return found


def leftovers(scratch: str):
    deadline = time.monotonic() + 10
    while children() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield from (f"still running: {name}" for name in children())
    yield from (f"left behind: {name}" for name in os.listdir(os.path.join(scratch, "tmp")))


def main() -> int:
    fiel, word, carrier = sys.argv[1:4]
    if carrier == "module" and judge_case.python_with_torch() is None:
        print("no Python with PyTorch")
        return judge_case.SKIPPED
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    folders, wrong = cases(word, carrier), []
    with tempfile.TemporaryDirectory(prefix="fiel-hostile-") as scratch:
        os.chmod(scratch, 0o755)  # candidates are an ordinary user
        os.mkdir(os.path.join(scratch, "tmp"))
        os.chmod(os.path.join(scratch, "tmp"), 0o1777)
        verdicts, code = judge(fiel, folders, carrier, scratch)
        for folder, hostile, clean in zip(folders, verdicts[::2], verdicts[1::2], strict=True):
            found = list(complaints(folder, carrier, hostile, clean))
            wrong += found
            print(f"{os.path.relpath(folder, HERE)}: {hostile['status']}: {hostile['reason']}")
            for text in found:
                print(f"  WRONG: {text}")
        for text in (*exit_codes.complaints(verdicts, code), *leftovers(scratch)):
            wrong.append(text)
            print(f"WRONG: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
