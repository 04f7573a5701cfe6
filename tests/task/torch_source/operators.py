"""The generated module of every operator of the catalogue against our own float64 evaluation.

    operators.py WRITER EVALUATOR [--op NAME]

WRITER is task_torch_source, EVALUATOR graph_evaluate_cases. Expressions and values are those of
tests/graph/torch_conformance: random cases of all operators, data alone.
"""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "graph/torch_conformance"))

import numpy as np  # noqa: E402
import torch  # noqa: E402

import run as conformance  # noqa: E402
from harness import Batch, Random, decode, differ  # noqa: E402

import json  # noqa: E402

torch.set_num_threads(1)
CASES_EACH = 12


def load(path: pathlib.Path):
    specification = importlib.util.spec_from_file_location(f"module_{path.stem}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def tensors_of(case: dict, raw: bytearray) -> list[torch.Tensor]:
    from harness import NAMES

    found = []
    for entry in case["inputs"]:
        count = int(np.prod(entry["shape"], dtype=np.int64)) if entry["shape"] else 1
        dtype = NAMES[entry["dtype"]]
        flat = torch.frombuffer(raw, dtype=dtype, count=count, offset=entry["offset"]) if count else (
            torch.empty(0, dtype=dtype))
        found.append(flat.reshape(entry["shape"]).clone())
    return found


def problem_of(path: pathlib.Path, case: dict, spec, ours, raw) -> str | None:
    if isinstance(ours, str):
        return None  # what we refuse is graph.torch's concern
    if not path.exists():
        return "no source: " + path.with_suffix(".error").read_text()
    with torch.no_grad():
        result = load(path).Model()(*tensors_of(case, raw))
    given = list(result) if isinstance(result, tuple) else [result]
    if len(given) != len(ours):
        return f"{len(given)} results for {len(ours)}"
    for i, (got, (want, type_name)) in enumerate(zip(given, ours)):
        if i in spec.ignore:
            continue
        if list(got.shape) != list(want.shape):
            return f"result {i}: shape {list(got.shape)}, ours {list(want.shape)}"
        if got.dtype == torch.float32:  # of integers, by PyTorch's default: ours is never rounded
            close = np.allclose(got.double().numpy(), want, rtol=3e-6, atol=1e-6, equal_nan=True)
            if not close:
                return f"result {i}: differs by more than float32 rounds"
        elif found := differ(want, got, max(spec.magnitude or 0, 1e-2)):
            return f"result {i}: {found}"
    return None


def attempt(*arguments) -> str | None:
    try:
        return problem_of(*arguments)
    except Exception as error:  # the others are checked all the same
        return f"{type(error).__name__}: {str(error)[:200]}"


def main() -> int:
    writer, evaluator = sys.argv[1], sys.argv[2]
    only = sys.argv[4] if len(sys.argv) > 4 else None
    batch, origin = Batch(), []
    for name, operator in conformance.OPERATORS.items():
        if only and name != only:
            continue
        for index in range(min(operator.count, CASES_EACH if not only else operator.count)):
            batch.add(name, operator, operator.make(Random(name, index)))
            origin.append((name, index))
    with tempfile.TemporaryDirectory() as text:
        out = pathlib.Path(text)
        (out / "cases.json").write_text(json.dumps(batch.cases))
        (out / "data.bin").write_bytes(batch.data)
        subprocess.run([evaluator, text], check=True)
        subprocess.run([writer, "--expressions", text], check=True)
        results = json.loads((out / "results.json").read_text())
        raw = (out / "results.bin").read_bytes()
        bad, compared = {}, 0
        for i, (name, index) in enumerate(origin):
            ours = decode(results[i], raw)
            compared += not isinstance(ours, str)
            wrong = attempt(out / f"{i}.py", batch.cases[i], batch.expected[i][1], ours, batch.data)
            if wrong is None:
                continue
            bad[name] = bad.get(name, 0) + 1
            if bad[name] <= 2:
                print(f"MISMATCH {name} case {index}: {wrong}\n  {batch.cases[i]['text']}")
                print("    " + ", ".join(f"{e['dtype']}{e['shape']}" for e in batch.cases[i]["inputs"]))
                if (out / f"{i}.py").exists():
                    print("    " + (out / f"{i}.py").read_text().replace("\n", "\n    "))
    names = {name for name, _ in origin}
    print(f"{len(names)} operators, {compared} of {len(origin)} cases compared, {sum(bad.values())} wrong"
          f" in {sorted(bad)}, PyTorch {torch.__version__}")
    return 1 if bad or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
