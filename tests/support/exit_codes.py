"""The exit code that docs/verdicts.md promises for verdicts: the tests compare the program with the page."""
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "verdicts.md"
BY_STATUS = dict(re.findall(r"^\| \d+ \| `(\w+)` \| ([0-9 or]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
assert len(BY_STATUS) == 12, f"{PAGE}: {len(BY_STATUS)} statuses"


def of_verdict(verdict: dict) -> int:
    promised = BY_STATUS[verdict["status"]]
    if promised == "1 or 3":
        return {"kernel": 1, "device": 3}[verdict["unsupported_by"]]
    return int(promised)


def of_verdicts(verdicts: list[dict]) -> int:
    """Of several kernels in one run: could not judge, else not accepted, else void tasks."""
    codes = [of_verdict(v) for v in verdicts]
    return next((code for code in (3, 1, 5) if code in codes), 0)


def complaints(verdicts: list[dict], code: int):
    """What is wrong with the codes inside the documents and with the program's own."""
    for v in verdicts:
        if v["exit_code"] != of_verdict(v) or v["accepted"] != (v["exit_code"] == 0):
            yield f"{v['status']} says exit code {v['exit_code']}, accepted {v['accepted']}"
    if code != of_verdicts(verdicts):
        yield f"exit code {code} of {[v['status'] for v in verdicts]}, expected {of_verdicts(verdicts)}"
