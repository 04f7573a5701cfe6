"""Holding a runner's device until the oracle releases it: what is launched meanwhile queues up.

    hold = hold_for(page, device)       # None where the device cannot wait for a word of memory
    hold.begin(turn)                    # what the current stream gets from here on waits
    page.words[QUEUED] = turn

The stream waits for a word of the control page itself: no kernel spins, the device is free for the
oracle, and the release costs the oracle one store.
"""

import ctypes
import warnings

import torch

from ..control import PAGE_BYTES, RELEASE, ControlPage

_MAPPED = 2  # CU_MEMHOSTREGISTER_DEVICEMAP
_GREATER_OR_EQUAL = 0  # CU_STREAM_WAIT_VALUE_GEQ, cyclic in 32 bits


class StreamHold:
    def __init__(self, page: ControlPage, device: str):
        self._device, self._driver = torch.device(device), ctypes.CDLL("libcuda.so.1")
        self._page = ctypes.c_void_p(page.address_of(0))
        self._word = ctypes.c_ulonglong()
        torch.zeros(1, device=device)  # the driver needs a context
        registered = self._driver.cuMemHostRegister_v2(
            self._page, ctypes.c_size_t(PAGE_BYTES), ctypes.c_uint(_MAPPED)
        )
        _check(registered, "registering the control page")
        mapped = self._driver.cuMemHostGetDevicePointer_v2(
            ctypes.byref(self._word), self._page, ctypes.c_uint(0)
        )
        if mapped:
            self.close()
        _check(mapped, "mapping the control page")
        self._word.value += 8 * RELEASE  # little endian: the word's lower half
        self.begin(0)  # passed already: finds out now whether the driver allows it

    def begin(self, turn: int) -> None:
        stream = torch.cuda.current_stream(self._device).cuda_stream
        waits = self._driver.cuStreamWaitValue32_v2(
            ctypes.c_void_p(stream), self._word, ctypes.c_uint(turn & 0xFFFFFFFF),
            ctypes.c_uint(_GREATER_OR_EQUAL),
        )
        _check(waits, "waiting for the control page")

    def close(self) -> None:
        self._driver.cuMemHostUnregister(self._page)


def _check(result: int, what: str) -> None:
    if result:
        raise OSError(f"{what}: CUDA error {result}")


def hold_for(page: ControlPage, device: str):
    """Without one the oracle times single calls, and says so."""
    if not device.startswith("cuda"):
        return None
    try:
        return StreamHold(page, device)
    except (OSError, AttributeError) as error:  # a driver that is older, or forbidden to
        warnings.warn(f"calls are not held: {error}")
        return None
