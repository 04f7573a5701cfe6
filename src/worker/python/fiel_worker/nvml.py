"""Clocks, power and throttle reasons of one GPU, from the driver's own library (no package needed).

    gauge = Gauge("cuda:0")
    gauge.read()   # {"sm_clock_mhz": 1980, "power_mw": 172585, "throttle": 0, …}; zeros without NVML
    gauge.missing  # None, or why there is nothing to read

The GPU is found by its UUID: indices of NVML and CUDA differ under CUDA_VISIBLE_DEVICES.
"""

import ctypes

import torch

_SM_CLOCK, _MEMORY_CLOCK = 1, 2
_IDLE = 0x1  # nvmlClocksEventReasonGpuIdle: not a throttle
EMPTY = {"sm_clock_mhz": 0, "memory_clock_mhz": 0, "power_mw": 0, "temperature_c": 0, "throttle": 0}


class Gauge:
    def __init__(self, device: str):
        self._handle, self.missing = None, None
        try:
            self._open(device)
        except (OSError, AttributeError, RuntimeError) as error:
            self.missing = f"no clocks, power or throttle reasons: {error}"

    def _open(self, device: str) -> None:
        if not device.startswith("cuda"):
            raise RuntimeError(f"{device} is no GPU")
        uuid = str(torch.cuda.get_device_properties(device).uuid)
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        self._check(self._library.nvmlInit_v2(), "nvmlInit")
        handle = ctypes.c_void_p()
        for name in (f"GPU-{uuid}", f"MIG-{uuid}", uuid):
            found = self._library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle))
            if found == 0:
                self._handle = handle
                return
        self._check(found, "nvmlDeviceGetHandleByUUID")

    def _check(self, result: int, what: str) -> None:
        if result != 0:
            self._library.nvmlErrorString.restype = ctypes.c_char_p
            raise RuntimeError(f"{what}: {self._library.nvmlErrorString(result).decode()}")

    def read(self) -> dict:
        if self._handle is None:
            return dict(EMPTY)
        return {
            "sm_clock_mhz": self._unsigned("nvmlDeviceGetClockInfo", _SM_CLOCK),
            "memory_clock_mhz": self._unsigned("nvmlDeviceGetClockInfo", _MEMORY_CLOCK),
            "power_mw": self._unsigned("nvmlDeviceGetPowerUsage"),
            "temperature_c": self._unsigned("nvmlDeviceGetTemperature", 0),
            "throttle": self._throttle(),
        }

    def limits(self) -> dict:
        """What the GPU may reach: its highest clocks and its power limit."""
        if self._handle is None:
            return {"max_sm_clock_mhz": 0, "max_memory_clock_mhz": 0, "power_limit_mw": 0}
        return {
            "max_sm_clock_mhz": self._unsigned("nvmlDeviceGetMaxClockInfo", _SM_CLOCK),
            "max_memory_clock_mhz": self._unsigned("nvmlDeviceGetMaxClockInfo", _MEMORY_CLOCK),
            "power_limit_mw": self._unsigned("nvmlDeviceGetEnforcedPowerLimit"),
        }

    def _unsigned(self, name: str, *arguments: int) -> int:
        value = ctypes.c_uint()
        ask = getattr(self._library, name)
        return value.value if ask(self._handle, *arguments, ctypes.byref(value)) == 0 else 0

    def _throttle(self) -> int:
        reasons = ctypes.c_ulonglong()
        for name in (
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetCurrentClocksThrottleReasons",
        ):
            ask = getattr(self._library, name, None)
            if ask is not None and ask(self._handle, ctypes.byref(reasons)) == 0:
                return reasons.value & ~_IDLE
        return 0
