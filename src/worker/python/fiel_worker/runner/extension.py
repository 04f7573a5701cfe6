"""Compiling a candidate's C++ and CUDA: load_inline's own machinery, steered by its environment.

Each load has folders of its own: no lock of a killed build, no object of another candidate, no
compiler cache is ever in reach (a cache that a candidate can write, a candidate can poison).
"""

import os
import pkgutil
import shutil
import stat
import sys
import tempfile

import torch

from ..channel import Fault
from .printed import shortened

LOG_CHARACTERS = 8192
MAX_JOBS = 8


class Build:
    """Folders and environment of the extensions of one load."""

    def __init__(self, device: str):
        self.folder = tempfile.mkdtemp(prefix="fiel-build-")
        self.log_path = os.path.join(self.folder, "log")
        self.notes = []
        os.environ["TORCH_EXTENSIONS_DIR"] = os.path.join(self.folder, "extensions")
        os.environ["MAX_JOBS"] = str(max(2, min(MAX_JOBS, len(os.sched_getaffinity(0)))))
        self._choose_architecture(device)
        self._wrap_compilers()

    def log(self) -> str:
        try:
            with open(self.log_path, errors="replace") as file:
                compiled = file.read(1 << 20)
        except OSError:
            compiled = ""
        return shortened("".join(f"{note}\n" for note in self.notes) + compiled, LOG_CHARACTERS)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _choose_architecture(self, device: str) -> None:
        """One architecture, the device's; FIEL_CUDA_ARCHITECTURE names it where there is no GPU."""
        target = os.environ.get("FIEL_CUDA_ARCHITECTURE", "9.0")
        if device.startswith("cuda"):
            target = "{}.{}".format(*torch.cuda.get_device_capability(device))
        inherited = os.environ.get("TORCH_CUDA_ARCH_LIST")
        if inherited == target + "a":  # the same device, with its own instructions (wgmma, TMA)
            target = inherited
        if inherited and inherited != target:
            self.notes.append(
                f"TORCH_CUDA_ARCH_LIST was '{inherited[:200]}': compiled for {target} only"
            )
        os.environ["TORCH_CUDA_ARCH_LIST"] = target

    def _wrap_compilers(self) -> None:
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        os.environ["FIEL_BUILD_LOG"] = self.log_path
        os.environ["FIEL_TORCH_INCLUDE"] = os.path.join(os.path.dirname(torch.__file__), "include")
        os.environ["TORCH_NO_COMPILER_WRAPPER"] = "1"
        host, nvcc = shutil.which("g++"), cuda_compiler()
        if host is None:
            self.notes.append("no g++ on this machine")
        else:
            os.environ["CXX"] = wrapper(tools, host)
        if nvcc is None:
            self.notes.append("no nvcc on this machine")
        else:
            os.environ["PYTORCH_NVCC"] = wrapper(tools, nvcc)


def cuda_compiler() -> str | None:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    path = shutil.which("nvcc") or os.path.join(home, "bin", "nvcc")
    return path if os.access(path, os.X_OK) else None


def wrapper(folder: str, tool: str) -> str:
    """A program of the compiler's name that runs compiler.py, copied there: this package may be
    an archive, out of which no other process can run a file."""
    for name in ("compiler.py", "light_headers.py"):
        copy = os.path.join(folder, name)
        if not os.path.exists(copy):
            with open(copy, "wb") as file:
                file.write(pkgutil.get_data(__package__, name))
    path, script = os.path.join(folder, os.path.basename(tool)), os.path.join(folder, "compiler.py")
    with open(path, "w") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" -I -B "{script}" "{tool}" "$@"\n')
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def needs_ninja() -> None:
    if shutil.which("ninja") is None:
        raise Fault("unsupported", "no ninja on this machine: extensions cannot be compiled")
