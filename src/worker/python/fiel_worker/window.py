"""Windows: memory of one device that two processes share through a descriptor.

    window = Window.create("cuda:0", bytes)      # the oracle; window.descriptor goes to a runner
    window = Window.adopt("cuda:0", bytes, fd)   # the runner
    x = window.tensor(offset, torch.float32, (255, 511), (511, 1))

On the CPU a window is a memfd; on a GPU it is an allocation of the driver's virtual memory interface
(cuMemCreate, exported as a POSIX descriptor), which works across namespaces and copies nothing.
"""

import ctypes
import fcntl
import gc
import math
import mmap
import os

import torch

from .channel import Fault

GUARD_BYTES = 4096
ALIGNMENT = 256
_MAX_STRIDE = 1 << 48
_MAX_ELEMENTS = 1 << 62  # of a view, whose strides may be 0; PyTorch multiplies in 63 bits


class Window:
    def __init__(self, device: str, size: int, descriptor: int, flat: torch.Tensor, release):
        self.device, self.bytes, self.descriptor = device, size, descriptor
        self.flat = flat  # uint8, all of the window
        self._release = release

    @staticmethod
    def create(device: str, size: int) -> "Window":
        return _create_cuda(device, size) if device.startswith("cuda") else _create_cpu(size)

    @staticmethod
    def adopt(device: str, size: int, descriptor: int) -> "Window":
        if device.startswith("cuda"):
            return _adopt_cuda(device, size, descriptor)
        return _map_cpu(size, descriptor)

    def tensor(self, offset: int, dtype: torch.dtype, shape, stride) -> torch.Tensor:
        """A view; refuses what lies outside, whoever asked for it."""
        extent = 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if 0 not in shape else 0
        # The stride of a dimension of one counts for nothing, and may be beyond what PyTorch takes.
        far = any(not 0 <= s <= _MAX_STRIDE for s in stride)
        many = math.prod(max(n, 1) for n in shape) > _MAX_ELEMENTS
        bad = any(n < 0 for n in shape) or far or many or len(shape) != len(stride)
        if bad or offset < 0 or offset % dtype.itemsize or offset + extent * dtype.itemsize > self.bytes:
            raise Fault("worker", f"a tensor of shape {tuple(shape)} at byte {offset} leaves its window")
        typed = self.flat[offset : offset + extent * dtype.itemsize].view(dtype)
        return typed.as_strided(tuple(shape), tuple(stride))

    def close(self) -> None:
        self.flat = None
        self._release()


def _create_cpu(size: int) -> Window:
    descriptor = os.memfd_create("fiel-window", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, max(size, 1))
    seal(descriptor)
    return _map_cpu(size, descriptor)


def seal(descriptor: int) -> None:
    """Before anybody else has it: who shrinks a memory file kills its readers with SIGBUS, who lets it
    grow has memory that no limit counts, and who seals it against writing leaves no use for it."""
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)


def _map_cpu(size: int, descriptor: int) -> Window:
    if os.fstat(descriptor).st_size < size:
        raise Fault("worker", "a window is shorter than it was said to be")
    pages = mmap.mmap(descriptor, max(size, 1))
    flat = torch.frombuffer(pages, dtype=torch.uint8)
    return Window("cpu", size, descriptor, flat[:size], lambda: os.close(descriptor))


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class _Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


_DEVICE, _PINNED, _POSIX_DESCRIPTOR, _READ_WRITE = 1, 1, 1, 3
_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


def _driver():
    return ctypes.CDLL("libcuda.so.1")


def _check(result: int, what: str) -> None:
    if result == 0:
        return
    name = ctypes.c_char_p()
    _driver().cuGetErrorName(result, ctypes.byref(name))
    word = name.value.decode() if name.value else str(result)
    raise Fault("memory" if result == _OUT_OF_MEMORY else "worker", f"{what}: {word}")


def _properties(device: str) -> _Properties:
    p = _Properties()
    p.type, p.handle_types = _PINNED, _POSIX_DESCRIPTOR
    p.location = _Location(_DEVICE, torch.device(device).index or 0)
    return p


def _padded(device: str, size: int) -> int:
    granularity = ctypes.c_size_t()
    properties = _properties(device)
    _check(
        _driver().cuMemGetAllocationGranularity(ctypes.byref(granularity), ctypes.byref(properties), 0),
        "asking for the allocation granularity",
    )
    return (max(size, 1) + granularity.value - 1) // granularity.value * granularity.value


def give_back(device: str) -> None:
    """Device memory that PyTorch has freed and keeps: the driver cannot ask for it."""
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
        torch.cuda.empty_cache()


def _create_cuda(device: str, size: int) -> Window:
    torch.zeros(1, device=device)  # the driver needs a context
    padded, properties = _padded(device, size), _properties(device)
    handle, descriptor = ctypes.c_ulonglong(), ctypes.c_int()
    create = lambda: _driver().cuMemCreate(
        ctypes.byref(handle), ctypes.c_size_t(padded), ctypes.byref(properties), ctypes.c_ulonglong(0)
    )
    made = create()
    if made == _OUT_OF_MEMORY:
        give_back(device)
        made = create()
    _check(made, f"a window of {padded} bytes of device memory")
    exported = _driver().cuMemExportToShareableHandle(
        ctypes.byref(descriptor), handle, _POSIX_DESCRIPTOR, ctypes.c_ulonglong(0)
    )
    _check(exported, "exporting a window")
    return _map_cuda(device, size, padded, handle, descriptor.value)


def _adopt_cuda(device: str, size: int, descriptor: int) -> Window:
    torch.zeros(1, device=device)
    handle = ctypes.c_ulonglong()
    imported = _driver().cuMemImportFromShareableHandle(
        ctypes.byref(handle), ctypes.c_void_p(descriptor), _POSIX_DESCRIPTOR
    )
    _check(imported, "importing a window")
    return _map_cuda(device, size, _padded(device, size), handle, descriptor)


class _DeviceBytes:
    """What torch.as_tensor needs to see device memory that is not its own."""

    def __init__(self, address: int, size: int):
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3,
        }


def _map_cuda(device: str, size: int, padded: int, handle, descriptor: int) -> Window:
    driver, address = _driver(), ctypes.c_ulonglong()
    zero, length = ctypes.c_ulonglong(0), ctypes.c_size_t(padded)
    reserved = driver.cuMemAddressReserve(
        ctypes.byref(address), length, ctypes.c_size_t(0), zero, zero
    )
    _check(reserved, "reserving addresses for a window")
    _check(driver.cuMemMap(address, length, ctypes.c_size_t(0), handle, zero), "mapping a window")
    access = _Access(_properties(device).location, _READ_WRITE)
    allowed = driver.cuMemSetAccess(address, length, ctypes.byref(access), ctypes.c_size_t(1))
    _check(allowed, "opening a window")

    def release() -> None:
        torch.cuda.synchronize(device)
        driver.cuMemUnmap(address, length)
        driver.cuMemAddressFree(address, length)
        driver.cuMemRelease(handle)
        os.close(descriptor)

    flat = torch.as_tensor(_DeviceBytes(address.value, padded), device=device)
    return Window(device, size, descriptor, flat[:size], release)
