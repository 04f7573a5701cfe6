"""Numerics policies of the reference side: how PyTorch may compute with float32 data.

    numerics.apply("fp32")
    numerics.assert_applied("fp32")     # all that apply sets, before every run of a reference
    numerics.measure("fp32", "cuda:0")  # the flags believed only as far as results show them

fp32 forbids TF32 everywhere, tf32 allows it everywhere, default is what a fresh process has (TF32 for
cuDNN, none for cuBLAS). bf16 and fp16 cast the module and its inputs; nothing is autocast.

PyTorch has two interfaces for this, and from 2.9 on a write through the new one (fp32_precision)
makes a read through the old one (allow_tf32) raise, in Inductor's templates too, which read both
(2.15). A write through the old one keeps both readable, so it is used wherever it exists. The new
top-level switch is not used at all: it does not reach cuDNN.
"""

import torch

from .channel import Fault

POLICIES = ("fp32", "default", "tf32", "bf16", "fp16")
LOW_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}

# (matmul, cuDNN) may use TF32. Under bf16 and fp16 what stays float32 is float32.
_ALLOWED = {
    "fp32": (False, False), "default": (False, True), "tf32": (True, True),
    "bf16": (False, False), "fp16": (False, False),
}

# Relative rms errors of one product with normal data: float32 ends at 2e-6, TF32 begins at 1e-4
# (docs/timing.md#policies).
_FP32_LIMIT, _TF32_LIMIT = 2e-5, 5e-3


def apply(policy: str) -> dict:
    """Sets the flags of a policy; returns them as they read afterwards."""
    matmul, cudnn = _allowed(policy)
    backends = torch.backends
    if _has_old_interface():
        backends.cuda.matmul.allow_tf32 = matmul
        backends.cudnn.allow_tf32 = cudnn
    else:
        backends.cuda.matmul.fp32_precision = "tf32" if matmul else "ieee"
        backends.cudnn.conv.fp32_precision = "tf32" if cudnn else "ieee"
        backends.cudnn.rnn.fp32_precision = "tf32" if cudnn else "ieee"
    reduced = _reduced(policy)
    backends.cuda.matmul.allow_fp16_reduced_precision_reduction = reduced
    backends.cuda.matmul.allow_bf16_reduced_precision_reduction = reduced
    backends.cudnn.enabled = True
    backends.cudnn.benchmark = False
    return assert_applied(policy)


def assert_applied(policy: str) -> dict:
    """The flags, of which all that `apply` sets must be those of the policy."""
    matmul, cudnn = _allowed(policy)
    wanted = {
        "matmul_tf32": matmul, "cudnn_tf32": cudnn, "fp16_reduced_reduction": _reduced(policy),
        "bf16_reduced_reduction": _reduced(policy), "cudnn_enabled": True, "cudnn_benchmark": False,
    }
    found = flags()
    others = {name: found[name] for name in wanted if found[name] != wanted[name]}
    if others:
        raise Fault("worker", f"the flags are not those of policy {policy}: {others}")
    return found


def assert_unchanged(policy: str) -> None:
    """As assert_applied, of a process that runs nobody's code but the task's: who else was it?"""
    try:
        assert_applied(policy)
    except Fault as fault:
        raise Fault("task", f"the task changes PyTorch's flags while it runs: {fault.message}") from None


def flags() -> dict:
    try:
        return _flags()
    except RuntimeError as error:  # someone wrote through the other interface
        raise Fault("worker", f"PyTorch's precision flags cannot be read: {error}")


def _flags() -> dict:
    backends = torch.backends
    if _has_old_interface():
        matmul, cudnn = backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32
    else:
        matmul = backends.cuda.matmul.fp32_precision == "tf32"
        cudnn = {backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision} == {"tf32"}
    return {
        "matmul_tf32": bool(matmul),
        "cudnn_tf32": bool(cudnn),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "fp16_reduced_reduction": bool(backends.cuda.matmul.allow_fp16_reduced_precision_reduction),
        "bf16_reduced_reduction": bool(backends.cuda.matmul.allow_bf16_reduced_precision_reduction),
        "cudnn_enabled": bool(backends.cudnn.enabled),
        "cudnn_benchmark": bool(backends.cudnn.benchmark),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def cast_module(module: torch.nn.Module, policy: str) -> torch.nn.Module:
    """The module under a policy: floating parameters and buffers in the policy's dtype."""
    return module.to(LOW_DTYPES[policy]) if policy in LOW_DTYPES else module


def cast_tensor(tensor: torch.Tensor, policy: str) -> torch.Tensor:
    """An input under a policy: only float32 is cast, masks and indices stay what they are."""
    if policy in LOW_DTYPES and tensor.dtype == torch.float32:
        return tensor.to(LOW_DTYPES[policy])
    return tensor


def measure(policy: str, device: str) -> dict:
    """Relative rms errors of a product, a convolution and an LSTM against float64; refuses the
    policy when they are not its own. On the CPU there is no TF32: errors are returned unjudged."""
    apply(policy)
    errors = {
        "matmul": _error_of(_matmul, device), "conv": _error_of(_convolution, device),
        "lstm": _error_of(_lstm, device),
    }
    if device.startswith("cuda"):
        matmul, cudnn = _allowed(policy)
        for name, allowed in (("matmul", matmul), ("conv", cudnn), ("lstm", cudnn)):
            limit = _TF32_LIMIT if allowed else _FP32_LIMIT
            if not errors[name] <= limit:
                raise Fault(
                    "worker",
                    f"policy {policy} does not hold: {name} is off by {errors[name]:.1e} (rms)",
                )
    return errors


def _error_of(build, device: str) -> float:
    devices = [torch.device(device).index or 0] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        torch.manual_seed(1)
        run, operands = build()
        exact = run([o.double() for o in operands])
        got = run([o.to(device) for o in operands]).cpu().double()
    return float((got - exact).square().mean().sqrt() / exact.square().mean().sqrt())


def _matmul():
    return lambda o: o[0] @ o[1], [torch.randn(256, 512), torch.randn(512, 256)]


def _convolution():
    run = lambda o: torch.nn.functional.conv2d(o[0], o[1], padding=1)
    return run, [torch.randn(4, 64, 32, 32), torch.randn(64, 64, 3, 3)]


def _lstm():
    layer = torch.nn.LSTM(64, 64)

    def run(operands):
        like = operands[0]
        return layer.to(like.device, like.dtype)(like)[0]

    return run, [torch.randn(16, 8, 64)]


def _has_old_interface() -> bool:
    return hasattr(type(torch.backends.cudnn), "allow_tf32") or hasattr(
        torch.backends.cudnn, "allow_tf32"
    )


def _reduced(policy: str) -> bool:
    """PyTorch's own way: split products of fp16 and bf16 add up in fp16 and bf16."""
    return policy != "fp32"


def _allowed(policy: str) -> tuple[bool, bool]:
    if policy not in _ALLOWED:
        raise Fault("worker", f"unknown numerics policy {policy!r}")
    return _ALLOWED[policy]
