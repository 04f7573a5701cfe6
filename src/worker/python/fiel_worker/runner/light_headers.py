"""Lighter stand-ins for torch/extension.h and its like, made for one source file.

PyTorch's own headers declare every operator and the C++ front end: 23 s of g++ and 70 s of nvcc for
a file that needs at::Tensor and two operators (docs/torch-workers.md#extensions). The stand-ins
include at::Tensor, the operators whose names the source mentions, and pybind11 where it is used.
A source that needs more does not compile with them and is compiled with the real headers again.

Standard library only: the compiler wrapper imports this without PyTorch.
"""

import os
import re

NAMES = (
    "torch/extension.h", "torch/types.h", "torch/all.h", "torch/torch.h", "torch/python.h",
    "ATen/ATen.h",
)
# What the stand-ins do not offer: no use trying.
_BEYOND = re.compile(
    r"\btorch::(?:nn|optim|jit|data|serialize|save|load|autograd|special|fft|linalg)\b"
    r"|\btorch::python\b|torch/csrc/(?:autograd|jit|api)"
)
_QUALIFIED = re.compile(r"\b(?:torch|at)\s*::\s*([a-z_]\w*)")
_CALLED = re.compile(r"\b([a-z_]\w*)\s*\(")
_USING = re.compile(r"\busing\s+namespace\s+(?:torch|at)\b")
_ON_MENTION = (
    (r"\bAT_DISPATCH|\bAT_PRIVATE", "ATen/Dispatch.h"),
    (r"\bAT_DISPATCH_V2", "ATen/Dispatch_v2.h"),
    (r"\bTORCH_LIBRARY", "torch/library.h"),
    (r"\bDeviceGuard\b|\bOptionalDeviceGuard\b|\bdevice_of\b", "ATen/DeviceGuard.h"),
    (r"\bparallel_for\b|\bget_num_threads\b", "ATen/Parallel.h"),
    (r"\bindexing\b|\bSlice\b", "ATen/TensorIndexing.h"),
    (r"\bcout\b|\bcerr\b|\bostringstream\b", "ATen/Formatting.h"),
    (r"\bglobalContext\b", "ATen/Context.h"),
    (r"\bNoGradGuard\b|\bGradMode\b", "ATen/core/grad_mode.h"),
    (r"\bAutoDispatch", "ATen/core/LegacyTypeDispatch.h"),
    (r"\bscalar_to_tensor\b", "ATen/ScalarOps.h"),
    (r"\bAccumulateType\b|\bacc_type\b", "ATen/AccumulateType.h"),
    (r"\bOpMathType\b|\bopmath_type\b", "ATen/OpMathType.h"),
    (r"PYBIND11|\bpybind11\b|\bpy::", "torch/csrc/Exceptions.h"),
    (r"PYBIND11|\bpybind11\b|\bpy::", "torch/csrc/utils/pybind.h"),
)
_ALWAYS = ("ATen/core/Tensor.h", "ATen/TensorOperators.h")
_STANDARD = (
    "algorithm", "array", "cmath", "cstdint", "cstring", "functional", "iostream", "limits", "map",
    "memory", "mutex", "numeric", "optional", "sstream", "stdexcept", "string", "tuple",
    "unordered_map", "utility", "vector",
)
_NAMESPACE = """
namespace torch {
using namespace at;
using std::nullopt;
using std::optional;
using Dtype = at::ScalarType;
constexpr auto kUInt8 = at::kByte, kU8 = at::kByte;
constexpr auto kInt8 = at::kChar, kI8 = at::kChar;
constexpr auto kInt16 = at::kShort, kI16 = at::kShort;
constexpr auto kInt32 = at::kInt, kI32 = at::kInt;
constexpr auto kInt64 = at::kLong, kI64 = at::kLong;
constexpr auto kFloat16 = at::kHalf, kF16 = at::kHalf;
constexpr auto kFloat32 = at::kFloat, kF32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble, kF64 = at::kDouble;
}  // namespace torch
"""


def text_for(source: str, torch_include: str) -> str | None:
    """The stand-in for a source text, or None where the real headers are needed."""
    if _BEYOND.search(source) or not re.search(r"#\s*include\s*<(?:torch|ATen)/", source):
        return None
    names = set(_QUALIFIED.findall(source))
    if _USING.search(source):
        names |= set(_CALLED.findall(source))
    headers = list(_ALWAYS)
    headers += [header for pattern, header in _ON_MENTION if re.search(pattern, source)]
    headers += [f"ATen/ops/{name}.h" for name in sorted(names)]
    lines = [f"#include <{name}>" for name in _STANDARD]
    exists = lambda header: os.path.exists(os.path.join(torch_include, header))  # noqa: E731
    lines += [f"#include <{header}>" for header in headers if exists(header)]
    # PyTorch's own headers then name the operators that they need, and do not include them all.
    per_operator = "#pragma once\n#ifndef AT_PER_OPERATOR_HEADERS\n#define AT_PER_OPERATOR_HEADERS\n#endif\n"
    return per_operator + "\n".join(lines) + "\n" + _NAMESPACE


def write(folder: str, text: str) -> None:
    """One stand-in under every name that it stands for."""
    for name in NAMES:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            if name == NAMES[0]:
                file.write(text)
            else:
                file.write(f"#pragma once\n#include <{NAMES[0]}>\n")


def source_text(path: str, depth: int = 3, budget: int = 4 << 20) -> str:
    """A source and what it includes by quotes, as far as it is there."""
    try:
        with open(path, errors="replace") as file:
            text = file.read(budget)
    except OSError:
        return ""
    if depth:
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE)[:64]:
            inner = os.path.join(os.path.dirname(path), name)
            if os.path.isfile(inner):
                text += "\n" + source_text(inner, depth - 1, budget // 4)
    return text
