"""The four operations of a naive evaluator's table beside what `fiel judge` measures of them.

    FIEL_PYTHON=python3 python3 bench/article.py --fiel build/release/fiel [--device cuda:0] [--time-budget 20]

A row gives, in microseconds: PyTorch eager by the host's clock around one call without waiting for the GPU, and with
(best of 100 each, as such tables are made); eager, torch.compile and a kernel of examples/ by the judge's clock
(fresh inputs, cold L2, outputs checked); and the judge's headline: the ratio to the fastest baseline that is at least
as accurate, with its interval. The first two differ by what was never waited for. Without a GPU the host's clock is
all there is, on a sixteenth of the rows.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
KERNELS = {"softmax": "online", "layernorm": "welford", "gelu_bias_residual": "vectorised", "matmul_bias_relu": "tiled"}


def operation(name, torch):
    f = torch.nn.functional
    return {
        "softmax": lambda x: torch.softmax(x, -1),
        "layernorm": lambda x, w, b: f.layer_norm(x, x.shape[-1:], w, b, 1e-5),
        "gelu_bias_residual": lambda x, b, r: f.gelu(x + b) + r,
        "matmul_bias_relu": lambda x, w, b: torch.relu(x @ w + b),
    }[name]


def by_the_hosts_clock(name, task, shape, device):
    """(us without waiting, us with): the best of a hundred calls."""
    import torch

    tensors = [torch.randn([shape[s] for s in spec["shape"]], device=device) for spec in task["inputs"].values()]
    call = operation(name, torch)
    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    calls = 100 if device != "cpu" else 5
    best = []
    for waits in (False, True):
        took = []
        for _ in range(calls):
            wait()
            begun = time.perf_counter()
            call(*tensors)
            if waits:
                wait()
            took.append(time.perf_counter() - begun)
        best.append(1e6 * min(took))
    return best


def by_the_judge(fiel, name, device, seconds):
    words = [fiel, "judge", f"tasks/{name}.toml", f"examples/{name}/{KERNELS[name]}.cu", "--device", device, "--json",
             "--no-store", "--seed", "5", "--budget", "quick", "--baselines", "eager,compile", "--time-budget", str(seconds)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": f"exit code {done.returncode}", "reason": done.stderr.strip()[-200:], "measurement": None}


def median_us(measured, name):
    """Of a side under PyTorch's default numerics; the kernel is the first side."""
    for side in measured["sides"][1:]:
        if side["name"] == name and side["policy"] in ("default", "") and side["median_ns"]:
            return f"{side['median_ns'] / 1e3:.1f}"
    return "–"


def judged_cells(verdict):
    m = verdict.get("measurement")
    if verdict["status"] != "correct" or not m or not m["sides"]:
        return ["–", "–", "–", f"{verdict['status']}: {verdict['reason'][:80]}"]
    headline = "–"
    if m["headline"] is not None:
        r = m["ratios"][m["headline"]]
        headline = f"{r['value']:.3f} [{r['low']:.3f}, {r['high']:.3f}] of {r['against']}, {r['policy']}"
    kernel = m["sides"][0]["median_ns"]
    return [median_us(m, "eager"), median_us(m, "compile"), f"{kernel / 1e3:.1f}" if kernel else "–", headline]


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--fiel", default="build/release/fiel")
    words.add_argument("--device", default="cuda:0", help="cuda:N or cpu")
    words.add_argument("--time-budget", type=int, default=20)
    given = words.parse_args()
    fiel = str(pathlib.Path(given.fiel).resolve())
    print("| operation | not waited for, us | waited for, us | apart | eager, us | compile, us | kernel, us | kernel's ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for name in KERNELS:
        task = tomllib.loads((ROOT / f"tasks/{name}.toml").read_text())
        shape = dict(task["shapes"]["bench"])
        if given.device == "cpu":
            first = next(iter(shape))
            shape[first] //= 16
        without, waited = by_the_hosts_clock(name, task, shape, given.device)
        cells = ["–"] * 4 if given.device == "cpu" else judged_cells(by_the_judge(fiel, name, given.device, given.time_budget))
        print(f"| {name} | {without:.1f} | {waited:.1f} | {waited / without:.0f}x | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
