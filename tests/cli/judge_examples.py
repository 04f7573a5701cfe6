#!/usr/bin/env python3
"""Judges kernels of examples/ and compares the verdicts with expect.toml, and the exit codes with docs/verdicts.md.

usage: judge_examples.py FIEL SOURCE_DIR OPERATION [FILE]
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import exit_codes  # noqa: E402


def read_expectations(path):
    """The few forms of TOML that expect.toml uses: Python 3.11's tomllib where there is one."""
    try:
        import tomllib

        with open(path, "rb") as f:
            return tomllib.load(f)
    except ImportError:
        document, current = {"kernel": []}, None
        with open(path, encoding="utf-8") as f:
            for line in f:
                line = line.strip()
                if line == "[[kernel]]":
                    current = {}
                    document["kernel"].append(current)
                elif match := re.match(r'^(\w+) = (".*"|\[.*\])$', line):
                    (document if current is None else current)[match[1]] = json.loads(match[2])
        return document


def complaints(expected, verdict):
    if verdict["status"] != expected["status"]:
        yield f"status {verdict['status']}, expected {expected['status']}: {verdict['reason']}"
    if "numerics" in expected and verdict["numerics"] != expected["numerics"]:
        yield f"numerics {verdict['numerics']}, expected {expected['numerics']}"
    if "weights" in expected and verdict["weights"] != expected["weights"]:
        yield f"weights by {verdict['weights']!r}, expected {expected['weights']!r}"
    codes = [f["code"] for f in verdict["findings"]]
    if "finding" in expected and expected["finding"] not in codes:
        yield f"findings {codes}, expected {expected['finding']}"
    witness = verdict["witness"]
    if verdict["status"] == "incorrect" and witness is None:
        yield "incorrect without a witness"
    if "probe" in expected and (witness is None or witness["probe"] != expected["probe"]):
        yield f"witness {witness and witness['probe']}, expected {expected['probe']}"


def main():
    fiel, source, operation = sys.argv[1:4]
    only = sys.argv[4] if len(sys.argv) > 4 else None
    folder = os.path.join(source, "examples", operation)
    expectations = read_expectations(os.path.join(folder, "expect.toml"))
    failures = 0
    for expected in expectations["kernel"]:
        if only is not None and expected["file"] != only:
            continue
        words = [fiel, "judge", expectations["task"], os.path.join("examples", operation, expected["file"]),
                 "--json", "--no-store", "--seed", "20"] + expected.get("arguments", [])
        p = subprocess.run(words, capture_output=True, text=True, cwd=source, stdin=subprocess.DEVNULL)
        if not p.stdout:
            print(f"{expected['file']}: no verdict, exit code {p.returncode}: {p.stderr}")
            failures += 1
            continue
        verdict = json.loads(p.stdout)
        wrong = [*complaints(expected, verdict), *exit_codes.complaints([verdict], p.returncode)]
        for text in wrong:
            print(f"{expected['file']}: {text}")
        failures += bool(wrong)
        if not wrong:
            print(f"{expected['file']}: {verdict['status']}, as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
