"""Runs the generated module of every task in float64 and compares with our own evaluation.

    compare.py WRITER TASKS

WRITER is task_torch_source. Evaluation never rounds among floating dtypes, so the module's floating
dtypes are replaced by float64 before it runs; as generated, it must run too and give the declared
dtypes.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

TOLERANCE = 1e-10
DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
    "u8": torch.uint8, "bool": torch.bool,
}
FLOATING = re.compile(r"torch\.(float32|float16|bfloat16)\b")


def load(path: pathlib.Path, name: str):
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def tensor(entry, raw: bytes) -> torch.Tensor:
    dtype, count = DTYPES[entry["dtype"]], 1
    for n in entry["shape"]:
        count *= n
    flat = torch.frombuffer(raw, dtype=dtype, count=count, offset=entry["offset"])
    return flat.reshape(entry["shape"]).clone()


def outputs_of(result) -> list:
    return list(result) if isinstance(result, tuple) else [result]


def check(folder: pathlib.Path, name: str) -> str | None:
    """What is wrong, or None."""
    case = json.loads((folder / f"{name}.json").read_text())
    raw = bytearray((folder / f"{name}.bin").read_bytes())
    source = (folder / f"{name}.py").read_text()
    inputs = [tensor(entry, raw) for entry in case["inputs"]]
    as_written = load(folder / f"{name}.py", f"as_written_{name}")
    own = as_written.get_inputs()
    if [(t.shape, t.dtype) for t in own] != [(t.shape, t.dtype) for t in inputs]:
        return "get_inputs gives other shapes or dtypes than the task declares"
    given = outputs_of(as_written.Model(*as_written.get_init_inputs())(*own))
    if [t.dtype for t in given] != [DTYPES[o["declared"]] for o in case["outputs"]]:
        return f"gives {[t.dtype for t in given]}"
    wide = folder / f"wide_{name}.py"
    wide.write_text(FLOATING.sub("torch.float64", source))
    widened = [t.double() if t.dtype.is_floating_point else t for t in inputs]
    got = outputs_of(load(wide, f"wide_{name}").Model()(*widened))
    for i, (value, entry) in enumerate(zip(got, case["outputs"], strict=True)):
        want = tensor(entry, raw)
        if value.shape != want.shape:
            return f"output {i}: shape {tuple(value.shape)}, ours {tuple(want.shape)}"
        if value.dtype.is_floating_point:
            scale = want.abs() + want.square().mean().sqrt()
            bad = (value.double() - want).abs() > TOLERANCE * scale
        else:
            bad = value != want
        if bad.any():
            return f"output {i}: {int(bad.sum())} of {want.numel()} differ"
    return None


def main() -> int:
    torch.manual_seed(5)
    with tempfile.TemporaryDirectory() as out:
        written = subprocess.run([sys.argv[1], sys.argv[2], out], check=False)
        names = sorted(p.stem for p in pathlib.Path(out).glob("*.json"))
        problems = {name: attempt(pathlib.Path(out), name) for name in names}
        for name, problem in problems.items():
            if problem:
                print(f"{name}: {problem}\n{(pathlib.Path(out) / (name + '.py')).read_text()}")
        wrong = sum(p is not None for p in problems.values())
        print(f"{len(names)} tasks, {wrong} wrong, PyTorch {torch.__version__}")
        return 1 if wrong or not names or written.returncode else 0


def attempt(folder: pathlib.Path, name: str) -> str | None:
    try:
        return check(folder, name)
    except Exception as error:  # the other tasks are checked all the same
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
