"""What this process runs on: the answer to `hello`, of both roles."""

import ctypes
import platform
import re
import shutil

import torch


COMPILE_SINCE = (2, 4)


def describe(device: str) -> dict:
    """Facts about Python, PyTorch and the device. `notes` says what is missing and what it costs."""
    facts = {
        "no_compile": no_compile(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "notes": _notes(device),
    }
    return facts | (_cuda(device) if device.startswith("cuda") else _cpu())


def no_compile() -> str:
    """Why torch.compile is not used with this PyTorch; empty where it is."""
    numbers = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if numbers is None or tuple(map(int, numbers.groups())) >= COMPILE_SINCE:
        return ""
    return f"torch.compile needs PyTorch {'.'.join(map(str, COMPILE_SINCE))}, this is {torch.__version__}"


def _cuda(device: str) -> dict:
    properties = torch.cuda.get_device_properties(device)
    torch.zeros(1, device=device)  # the context: its memory is no candidate's
    uuid = getattr(properties, "uuid", None)
    return {
        "driver": _driver_version(),
        "device_name": properties.name,
        "device_uuid": None if uuid is None else f"GPU-{uuid}",
        "compute_capability": [properties.major, properties.minor],
        "memory_bytes": properties.total_memory,
        "l2_bytes": getattr(properties, "L2_cache_size", 0),
        "multiprocessors": properties.multi_processor_count,
    }


def _cpu() -> dict:
    return {
        "driver": None, "device_name": platform.processor() or platform.machine(),
        "device_uuid": None, "compute_capability": None, "memory_bytes": 0, "l2_bytes": 0,
        "multiprocessors": torch.get_num_threads(),
    }


def _driver_version() -> str | None:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        text = ctypes.create_string_buffer(96)
        if nvml.nvmlInit_v2() or nvml.nvmlSystemGetDriverVersion(text, len(text)):
            return None
        return text.value.decode()
    except (OSError, AttributeError):
        return None


def _notes(device: str) -> list[str]:
    notes = [no_compile() + ": no compiled baselines"] if no_compile() else []
    if not shutil.which("g++"):
        notes.append("no g++: torch.compile on the CPU and load_inline do not work")
    if not shutil.which("ninja"):
        notes.append("no ninja: load_inline does not work")
    if device.startswith("cuda"):
        from torch.utils import cpp_extension

        if not cpp_extension.CUDA_HOME:
            notes.append("no CUDA toolkit (CUDA_HOME): load_inline of CUDA sources does not work")
        try:
            import triton  # noqa: F401
        except ImportError:
            notes.append("no Triton: torch.compile and Triton kernels do not work")
    return notes
