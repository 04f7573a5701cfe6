"""KernelBench's own evaluator and `fiel judge` on the same kernels, one after the other.

    python3 bench/kernelbench/beside.py --kernelbench CHECKOUT --fiel build/release/fiel \
        [--device cuda:0] [--seed 1] TASK[=KERNEL] ...

TASK is a file under CHECKOUT/KernelBench, such as level1/19_ReLU.py. Without KERNEL the reference is judged
against itself. KernelBench's evaluator runs as its scripts run it: five correctness trials, a hundred timed ones,
fp32, CUDA events; each in a new process with a new folder for extensions, so that both sides compile. What its
modules import and never use here (clients of language models) is replaced by empty modules, and pydantic, where it is
not installed, by a class that keeps what it is given. A calibration of the GPU, which `fiel judge` makes once a
machine, is made before.

A row gives for each side: seconds of wall clock for the whole of it, the verdict, the ratio reference / kernel.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_S = 400

# Runs in a process of its own: kernelbench, task, kernel, build folder; one JSON line at the end.
EVALUATOR = r"""
import json, sys, types
root, task, kernel, build = sys.argv[1:5]
for name, names in {"dotenv": ["load_dotenv"], "openai": ["OpenAI"], "litellm": ["completion"]}.items():
    module = types.ModuleType(name)
    for attribute in names:
        setattr(module, attribute, lambda *_, **__: None)
    sys.modules.setdefault(name, module)
try:
    import pydantic
except ImportError:
    class BaseModel:
        def __init__(self, **given):
            for name in self.__annotations__:
                setattr(self, name, given.get(name, getattr(type(self), name, None)))
    pydantic = types.ModuleType("pydantic")
    pydantic.BaseModel = BaseModel
    sys.modules["pydantic"] = pydantic
sys.path.insert(0, root + "/src")
import torch
from kernelbench.eval import eval_kernel_against_ref
result = eval_kernel_against_ref(
    open(task).read(), open(kernel).read().replace("class Model(", "class ModelNew(")
    .replace("super(Model,", "super(ModelNew,"), measure_performance=True, num_correct_trials=5,
    num_perf_trials=100, build_dir=build, device=torch.device(0), precision=torch.float32)
said = {} if result is None else {"compiled": result.compiled, "correct": result.correctness,
    "kernel_ms": result.runtime, "reference_ms": result.ref_runtime,
    "metadata": {k: str(v)[:200] for k, v in result.metadata.items()}}
print("\nRESULT " + json.dumps(said))
"""


def theirs(checkout, task, kernel):
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as build:
        try:
            done = subprocess.run([sys.executable, "-c", EVALUATOR, str(checkout), str(task), str(kernel), build],
                                  capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {"seconds": time.monotonic() - begun, "says": f"more than {LIMIT_S} s"}
    row = {"seconds": time.monotonic() - begun}
    lines = [x for x in done.stdout.splitlines() if x.startswith("RESULT ")]
    if not lines:
        return row | {"says": "failed: " + (done.stderr.strip().splitlines() or ["silent"])[-1][:120]}
    result = json.loads(lines[-1][7:])
    row["says"] = ("correct" if result.get("correct") else
                   "incorrect" if result.get("compiled") else "not compiled")
    if result.get("kernel_ms", -1) > 0 and result.get("reference_ms", -1) > 0:
        row["ratio"] = result["reference_ms"] / result["kernel_ms"]
        row["kernel_us"] = result["kernel_ms"] * 1e3
    return row


def ours(fiel, task, kernel, device, seed, extra):
    words = [fiel, "judge", str(task)] + (["--self"] if kernel == task else [str(kernel)])
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "FIEL_CACHE": cache}
        if device.startswith("cuda"):
            subprocess.run([fiel, "doctor", "--calibrate", "--device", device], capture_output=True, env=environment)
        begun = time.monotonic()
        try:
            done = subprocess.run(words + ["--device", device, "--seed", str(seed), "--json", "--no-store"] + extra,
                                  capture_output=True, text=True, timeout=LIMIT_S, env=environment)
        except subprocess.TimeoutExpired:
            return {"seconds": time.monotonic() - begun, "says": f"more than {LIMIT_S} s"}
    row = {"seconds": time.monotonic() - begun}
    try:
        verdict = json.loads(done.stdout)
    except ValueError:
        return row | {"says": f"exit {done.returncode}: {done.stderr.strip()[-120:]}"}
    row["says"] = verdict["status"]
    measured = verdict.get("measurement") or {}
    if measured.get("headline") is not None:
        ratio = measured["ratios"][measured["headline"]]
        row |= {"ratio": ratio["value"], "low": ratio["low"], "high": ratio["high"],
                "against": f"{ratio['against']}, {ratio['policy']}"}
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernelbench", type=Path, required=True)
    parser.add_argument("--fiel", required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words", default="", help="further words for fiel judge")
    parser.add_argument("pairs", nargs="+")
    asked = parser.parse_args()
    print("| task | kernel | KernelBench | s | ratio | Fiel | s | ratio |\n|---|---|---|---|---|---|---|---|")
    for pair in asked.pairs:
        name, _, kernel = pair.partition("=")
        task = asked.kernelbench / "KernelBench" / name
        kernel_path = Path(kernel) if kernel else task
        a = theirs(asked.kernelbench, task, kernel_path)
        b = ours(asked.fiel, task, kernel_path, asked.device, asked.seed, asked.words.split())
        ratio = [f"{x['ratio']:.3f}" if "ratio" in x else "–" for x in (a, b)]
        if "low" in b:
            ratio[1] += f" [{b['low']:.3f}, {b['high']:.3f}]"
        print(f"| {name} | {kernel or 'itself'} | {a['says']} | {a['seconds']:.1f} | {ratio[0]} | {b['says']} | "
              f"{b['seconds']:.1f} | {ratio[1]} {b.get('against', '')} |", flush=True)


if __name__ == "__main__":
    main()
