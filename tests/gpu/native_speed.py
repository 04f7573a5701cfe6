#!/usr/bin/env python3
"""A native task's kernel is judged and timed on a GPU, from end to end; prints what was measured.

usage: native_speed.py FIEL [TASK KERNEL]...      exit 0 as it must be, 1 not, 77 skipped with a reason

FIEL_PYTHON names the Python that has PyTorch, as ever. What must hold on any GPU: the kernel is right,
its events agree with the judge's clock, its gap is the gauge's, every baseline has a time, and no time
is below the floor. How fast it is, is printed and not judged.
"""
import json
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAIRS = [("tasks/softmax.toml", "examples/softmax/online.cu"),
         ("tasks/matmul_bias_relu.toml", "examples/matmul_bias_relu/tiled.cu"),
         ("tasks/layernorm.toml", "examples/layernorm/simple.cu")]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def judged(fiel, task, kernel):
    words = [fiel, "judge", task, kernel, "--device", "cuda:0", "--json", "--no-store", "--seed", "3",
             "--budget", "quick", "--time-budget", "60"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=SOURCE, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": f"exit code {done.returncode}", "reason": done.stderr[-600:], "measurement": None}


def faults(v):
    """What is not as it must be."""
    found = []
    m = v["measurement"] or {"sides": [], "ratios": [], "why": "nothing was measured", "speed": ""}
    if v["status"] != "correct":
        found.append(f"{v['status']}: {v['reason']}")
    if m["speed"] in ("", "not_measured") or not m["sides"]:
        return found + [f"not measured: {m['why']}"]
    kernel, baselines = m["sides"][0], m["sides"][1:]
    if m["shape_set"] != "bench":
        found.append(f"timed at {m['shape_set']}")
    if kernel["gap_from"] != "gauge":
        found.append(f"no gauge: {v['environment']['notes']}")
    if not kernel["events_believed"]:
        found.append("its events are not believed")
    if kernel["device_median_ns"] and abs(kernel["median_ns"] / kernel["device_median_ns"] - 1) > 0.01:
        found.append("credited another time than its events say")
    held = {s["held"] for s in m["sides"] if not s["unavailable"]}
    if len(held) != 1:
        found.append("sides were called in different modes")
    found += [f"{s['name']} {s['policy']}: {s['unavailable']}" for s in baselines if s["unavailable"]]
    return found


def shown(v):
    m = v["measurement"]
    if not m or not m["sides"]:
        return
    for s in m["sides"]:
        ratio = next((r for r in m["ratios"] if (r["against"], r["policy"]) == (s["name"], s["policy"])), None)
        text = f"    {s['name'] + ' ' + s['policy']:<18}{s['median_ns'] / 1e3:10.2f} us  {s['numerics']}"
        text += f"  gap {s['gap_ns'] / 1e3:.0f} us ({s['gap_from']}), {s['calls_a_sample']} calls"
        text += ", held" if s["held"] else ", unheld"
        if ratio:
            text += f"  ratio {ratio['value']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}] {ratio['decision']}"
        print(text)
    if m["floor"]:
        print(f"    floor {m['floor']['floor_ns'] / 1e3:.2f} us by {m['floor']['bound_by']}")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode:
        skip("nvidia-smi finds no GPU")
    words = sys.argv[2:]
    pairs = list(zip(words[::2], words[1::2])) or PAIRS
    bad = 0
    for task, kernel in pairs:
        v = judged(str(pathlib.Path(sys.argv[1]).resolve()), task, kernel)
        m = v["measurement"]
        if m and "PyTorch" in m["why"] and not m["sides"]:
            skip(m["why"])
        found = faults(v)
        bad += bool(found)
        print(f"{'FAILED' if found else 'passed'}  {kernel} for {task}: {m['speed'] if m else 'no times'}")
        shown(v)
        for fault in found:
            print(f"    {fault}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
