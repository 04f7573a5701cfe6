"""Device memory of this side: PyTorch's own peak, and what the driver sees."""

import gc
import resource

import torch

from ..channel import Context


class Memory:
    def op_memory(self, message: dict, context: Context) -> dict:
        """`reset` begins new peaks behind the answer, with nothing kept for later: what the next call
        needs it takes from the device."""
        module = self.module(message["module"])
        if not self.device.startswith("cuda"):
            resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            return {
                "allocated_peak": None, "reserved_peak": None, "setup_bytes": module.setup_bytes,
                "used": None, "resident_peak": resident,
            }
        answer = {
            "allocated_peak": torch.cuda.max_memory_allocated(self.device),
            "reserved_peak": torch.cuda.max_memory_reserved(self.device),
            "setup_bytes": module.setup_bytes,
            "used": used_bytes(self.device),
            "resident_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        if message.get("reset"):
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)
        return answer


def used_bytes(device: str) -> int:
    """Used on the whole device, by whomever: raw cudaMalloc counts. Differences are what is meant,
    and they hold where nothing else changes meanwhile. On the CPU: this process's resident bytes."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
        free, total = torch.cuda.mem_get_info(device)
        return total - free
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
