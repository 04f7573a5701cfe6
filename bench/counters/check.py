"""Holds today's virtual GPU against the golden numbers of hardware in h200.json.

    check.py --fiel FILE [--golden FILE]      exit 0 within the tolerances, 1 not, 77 no golden yet, or no compiler

Needs nvcc (as fiel finds it) and no GPU.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import comparing
import measure

HERE = pathlib.Path(__file__).resolve().parent


def problems(plan: dict, golden: dict, profiles: dict) -> list[str]:
    """A line a thing that is wrong; `profiles` by the case's name, of `fiel profile --json`."""
    found = []
    for case in plan["cases"]:
        name = case["name"]
        if name not in profiles and name in golden["cases"]:
            found.append(f"{name}: no profile")
            continue
        ours = comparing.virtual(profiles[name]) if name in profiles else {}
        found += comparing.missing(name, golden, ours, plan)
        if name not in golden["cases"]:
            continue
        if golden["cases"][name]["shape"] != case["shape"]:
            found.append(f"{name}: the golden numbers are of another shape: other shape, other numbers")
            continue
        for row in comparing.failures(comparing.compare(name, ours, golden["cases"][name]["hardware"], plan)):
            found.append(f"{name}: {row['metric']}: {row['virtual']} where the GPU has {row['hardware']}, "
                         f"tolerance {row['tolerance']:.0%}")
    return found


def profile_of(fiel: str, case: dict, folder: pathlib.Path) -> dict | None:
    task = folder / "task.toml"
    task.write_text(measure.task_at((measure.ROOT / case["task"]).read_text(), case["shape"]))
    done = subprocess.run([fiel, "profile", str(task), case["kernel"], "--shapes", "counters", "--seed",
                           measure.SEED, "--json"], capture_output=True, text=True, cwd=measure.ROOT,
                          stdin=subprocess.DEVNULL)
    if done.returncode == 3:
        print(f"skipped: {done.stderr.strip()[-300:]}")
        sys.exit(77)
    try:
        return json.loads(done.stdout)["profiles"][0]
    except (ValueError, KeyError, IndexError):
        print(done.stderr[-1000:])
        return None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fiel", required=True)
    parser.add_argument("--golden", type=pathlib.Path, default=HERE / "h200.json")
    options = parser.parse_args()
    if not options.golden.exists():
        print(f"skipped: no golden yet ({options.golden}); bench/counters/run makes it on a GPU")
        return 77
    plan, golden = json.loads((HERE / "cases.json").read_text()), json.loads(options.golden.read_text())
    profiles = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in plan["cases"]:
            if (profile := profile_of(options.fiel, case, pathlib.Path(folder))) is not None:
                profiles[case["name"]] = profile
    found = problems(plan, golden, profiles)
    print("\n".join(found) or f"{len(profiles)} cases within the tolerances of {golden.get('about', '')}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
