"""Random values, the cases made of them, and the comparison of our evaluation with PyTorch's."""

import json
import os
import subprocess
import tempfile
import zlib

import numpy as np
import torch

DTYPES = {
    torch.float64: ("f64", np.float64), torch.float32: ("f32", np.float32),
    torch.float16: ("f16", np.float16), torch.int64: ("i64", np.int64),
    torch.int32: ("i32", np.int32), torch.int16: ("i16", np.int16), torch.int8: ("i8", np.int8),
    torch.uint8: ("u8", np.uint8), torch.bool: ("bool", np.bool_),
}
NUMPY = {name: kind for name, kind in DTYPES.values()}
NAMES = {"bf16": torch.bfloat16} | {name: t for t, (name, _) in DTYPES.items()}


class Random:
    """Shapes and tensors from a seed that depends only on the operator's name and the case."""

    def __init__(self, name, index):
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), index])
        self.index = index

    def integer(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def pick(self, *options):
        return options[self.integer(0, len(options) - 1)]

    def chance(self, p):
        return bool(self.rng.random() < p)

    def shape(self, least=0, most=4, extent=6, empty=0.04):
        shape = [self.integer(1, extent) for _ in range(self.integer(least, most))]
        if shape and self.chance(empty):
            shape[self.integer(0, len(shape) - 1)] = 0
        return shape

    def dim(self, rank):
        return self.integer(-max(rank, 1), max(rank, 1) - 1)

    def dims(self, rank, least=0):
        chosen = self.rng.permutation(rank)[: self.integer(min(least, rank), rank)]
        return [int(d) - (rank if self.chance(0.3) else 0) for d in chosen]

    def broadcastable(self, shape):
        """A shape that broadcasts to `shape`."""
        out = [1 if self.chance(0.3) else n for n in shape]
        return out[self.integer(0, len(out)):] if self.chance(0.4) else out

    def normal(self, shape, scale=1.0):
        return torch.from_numpy(np.asarray(self.rng.standard_normal(shape) * scale, dtype=np.float64))

    def real(self, shape, special=0.25):
        """Mixed magnitudes; sometimes NaN, infinities, zeros of both signs and ties."""
        kind = self.integer(0, 3)
        if kind == 0:
            x = self.rng.standard_normal(shape)
        elif kind == 1:
            x = self.rng.uniform(-4, 4, shape)
        elif kind == 2:
            x = self.rng.standard_normal(shape) * np.exp(self.rng.uniform(-5, 4, shape))
        else:
            x = self.rng.integers(-4, 5, shape) / 2.0
        x = np.array(x, dtype=np.float64)
        if x.size and self.chance(special):
            flat = x.reshape(-1)
            for _ in range(self.integer(1, 3)):
                flat[self.integer(0, flat.size - 1)] = self.pick(np.nan, np.inf, -np.inf, 0.0, -0.0)
            x = flat.reshape(x.shape)
        return torch.from_numpy(x)

    def positive(self, shape):
        return torch.from_numpy(np.asarray(np.exp(self.rng.uniform(-4, 3, shape)), dtype=np.float64))

    def unit(self, shape):
        return torch.from_numpy(np.asarray(self.rng.uniform(0, 1, shape), dtype=np.float64))

    def ints(self, shape, low=-9, high=9, dtype=torch.int64):
        return torch.from_numpy(np.asarray(self.rng.integers(low, high + 1, shape))).to(dtype)

    def bools(self, shape):
        return self.ints(shape, 0, 1).bool()

    def any_integers(self, shape):
        dtype = self.pick(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
        return self.ints(shape, 0 if dtype == torch.uint8 else -9, 9, dtype)


class Case:
    """One call. `results`: how many results to take apart. `magnitude`: what errors are relative to,
    beside the result's own size (a number or None)."""

    def __init__(self, *args, ref=None, results=1, magnitude=None, ignore=(), types=True, **kwargs):
        self.args, self.kwargs, self.ref = args, kwargs, ref
        self.results, self.magnitude, self.ignore, self.types = results, magnitude, ignore, types


class Operator:
    def __init__(self, make, ref=None, count=36):
        self.make, self.ref, self.count = make, ref, count


def torch_function(name):
    for module in (torch.nn.functional, torch):
        if hasattr(module, name):
            return getattr(module, name)
    raise KeyError(f"PyTorch has no {name}: give its reference")


def literal(value, tensors):
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return f"a{len(tensors) - 1}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(v, tensors) for v in value) + "]"
    if isinstance(value, torch.dtype):
        return f'"{DTYPES[value][0]}"'
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and not np.isfinite(value):
        return "nan" if value != value else ("inf" if value > 0 else "-inf")
    return repr(value)


def widened(value):
    if isinstance(value, torch.Tensor) and not value.dtype.is_floating_point:
        return value.double()
    return [widened(v) for v in value] if isinstance(value, list) else value


def exact(reference, case):
    """PyTorch's results. Where integers became float32 (its default dtype), the values are those of
    the same call in float64, and the dtype stays float32: ours are never rounded to it."""
    want = reference(*case.args, **case.kwargs)
    if not any(t.dtype == torch.float32 for t in flatten(want)):
        return want
    case.types = [t.dtype for t in flatten(want)]
    return reference(*[widened(a) for a in case.args], **{k: widened(v) for k, v in case.kwargs.items()})


class Batch:
    def __init__(self):
        self.cases, self.data, self.expected = [], bytearray(), []

    def add(self, op_name, spec, case):
        tensors = []
        parts = [literal(a, tensors) for a in case.args]
        parts += [f"{k}={literal(v, tensors)}" for k, v in case.kwargs.items()]
        names = [f"y{i}" for i in range(case.results)]
        text = f"{', '.join(names)} = {op_name}({', '.join(parts)})"
        inputs = []
        for i, t in enumerate(tensors):
            raw = t.contiguous()
            dtype = DTYPES[t.dtype][0]
            self.data.extend(b"\0" * (-len(self.data) % 8))
            inputs.append({"name": f"a{i}", "dtype": dtype, "shape": list(t.shape), "offset": len(self.data)})
            self.data.extend(raw.numpy().tobytes())
        reference = case.ref or spec.ref or torch_function(op_name)
        try:
            want = exact(reference, case)
        except Exception as e:
            want = e
        self.cases.append({"text": text, "inputs": inputs})
        self.expected.append((op_name, case, want))

    def run(self, evaluator):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "cases.json"), "w") as f:
                json.dump(self.cases, f)
            with open(os.path.join(folder, "data.bin"), "wb") as f:
                f.write(self.data)
            subprocess.run([evaluator, folder], check=True)
            with open(os.path.join(folder, "results.json")) as f:
                results = json.load(f)
            with open(os.path.join(folder, "results.bin"), "rb") as f:
                raw = f.read()
        return [(case, want, decode(result, raw)) for case, want, result in zip(self.cases, self.expected, results)]


def decode(result, raw):
    if "error" in result:
        return result["error"]
    out = []
    for o in result["outputs"]:
        kind = NUMPY[o["dtype"]]
        n = int(np.prod(o["shape"], dtype=np.int64)) if o["shape"] else 1
        flat = np.frombuffer(raw, dtype=kind, count=n, offset=o["offset"])
        out.append((flat.reshape(o["shape"]), o["type"]))
    return out


def flatten(want):
    if isinstance(want, torch.Tensor):
        return [want]
    return [t for t in want]


TOLERANCE = 1e-12


def mismatch(case, want, got):
    """None where they agree, else a sentence."""
    if isinstance(want, Exception):
        return f"PyTorch refuses: {type(want).__name__}: {str(want)[:200]}"
    if isinstance(got, str):
        return f"we refuse: {got}"
    want = flatten(want)
    if len(got) != min(case.results, len(want)):
        return f"{len(got)} results for {len(want)}"
    for i, ((value, type_name), w) in enumerate(zip(got, want)):
        if i in case.ignore:
            continue
        if list(value.shape) != list(w.shape):
            return f"result {i}: shape {list(value.shape)}, PyTorch {list(w.shape)}"
        dtype = case.types[i] if isinstance(case.types, list) else w.dtype
        if case.types and NAMES[type_name] != dtype:
            return f"result {i}: dtype {type_name}, PyTorch {dtype}"
        problem = differ(value, w, case.magnitude)
        if problem:
            return f"result {i}: {problem}"
    return None


def differ(value, want, magnitude):
    w = want.to(torch.float64).numpy() if want.dtype.is_floating_point else want.numpy()
    if w.size == 0:
        return None
    if not want.dtype.is_floating_point:
        bad = np.argwhere(value != w)
    else:
        finite = np.isfinite(w)
        same = np.where(np.isnan(w), np.isnan(value), value == w)
        with np.errstate(all="ignore"):
            rms = float(np.sqrt(np.mean(np.square(w[finite])))) if finite.any() else 0.0
            bound = TOLERANCE * (np.abs(w) + min(rms, 1e300) + (magnitude or 0)) + 1e-305
            near = np.abs(value - w) <= bound
        bad = np.argwhere(~np.where(finite, near, same))
    if len(bad) == 0:
        return None
    at = tuple(int(i) for i in bad[0])
    return f"{len(bad)} of {w.size} differ, first at {at}: {value[at]!r}, PyTorch {w[at]!r}"
