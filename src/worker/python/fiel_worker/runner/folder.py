"""CUDA-Agent work folders: model_new.py beside *.cu and *.cpp, here and in kernels/.

The sources make one extension, `cuda_extension`, compiled as the folder's own tool does it; what
was built there before is not used.
"""

import os
import pathlib
import sys

from ..channel import Fault
from . import extension, sources

NAME = "cuda_extension"
MAX_SOURCES = 256
SUFFIXES = (".cu", ".cpp")


def load(path: str, device: str, build: extension.Build):
    """The module of model_new.py, with the extension imported under the name it expects."""
    if not os.path.isdir(path):
        raise Fault("candidate", "the work folder is no folder")
    found = source_files(path)
    if found:
        sys.modules[NAME] = compile_sources(found, device, build)
    sys.path.insert(0, path)
    return sources.import_file(os.path.join(path, "model_new.py"), "model_new", "candidate")


def source_files(path: str) -> list[str]:
    root = pathlib.Path(path)
    found = [
        str(file) for folder in (root, root / "kernels") if folder.is_dir()
        for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES and file.is_file()
    ]
    if len(found) > MAX_SOURCES:
        raise Fault("candidate", f"over {MAX_SOURCES} sources in the work folder")
    return found


def compile_sources(found: list[str], device: str, build: extension.Build):
    from torch.utils import cpp_extension

    extension.needs_ninja()
    target = os.path.join(build.folder, "folder")
    os.mkdir(target)
    return cpp_extension.load(
        name=NAME,
        sources=found,
        build_directory=target,
        # A binding may include CUDA's headers though no kernel is compiled.
        with_cuda=device.startswith("cuda") or any(name.endswith(".cu") for name in found),
        extra_cflags=["-O3"],
        extra_cuda_cflags=["-O3", "--use_fast_math"],
    )
