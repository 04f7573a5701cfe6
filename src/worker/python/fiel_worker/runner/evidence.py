"""Which kernels one forward launches: a pass of its own under the profiler, never a timed one.

    {"kernels": [{"name", "launches", "device_ns", "origin", "tensor_core"}], "graph_launches": n,
     "missing": null | why there is nothing}

It informs and orders an audit; it proves nothing, since the profiler runs in the candidate's process.
"""

import torch

from .. import values
from . import kernel_names

MAX_KERNELS = 1000
MAX_NAME = 500


class EvidenceOperations:
    def op_evidence(self, message, context):
        module = self.module(message["module"])
        inputs = values.tensors_of(self.window(message["window"]), message["inputs"])
        with self.printed.captured():
            try:
                return observe(lambda: module.forward(inputs), self.device)
            except Exception as error:  # no profiler is no reason to end a judgement
                return nothing(f"the profiled pass failed: {type(error).__name__}: {error}"[:300])


def nothing(why: str) -> dict:
    return {"kernels": [], "graph_launches": 0, "missing": why}


def observe(forward, device: str) -> dict:
    if not device.startswith("cuda"):
        return nothing("kernels are seen on a GPU only")
    from torch.profiler import ProfilerActivity, profile

    forward()
    torch.cuda.synchronize(device)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True) as seen:
        forward()
        torch.cuda.synchronize(device)
    found, graph_launches = {}, 0
    for event in seen.profiler.kineto_results.events():
        name = event.name()
        if name in ("cudaGraphLaunch", "cuGraphLaunch"):
            graph_launches += 1
        if event.device_type() == torch.autograd.DeviceType.CUDA and not event.is_user_annotation():
            row = found.setdefault(name[:MAX_NAME], [0, 0])
            row[0] += 1
            row[1] += event.duration_ns()
    rows = [row_of(name, launches, ns) for name, (launches, ns) in found.items()]
    rows.sort(key=lambda row: -row["device_ns"])
    why = None if rows else "the profiler saw no kernel (CUPTI missing, or nothing was launched)"
    return {"kernels": rows[:MAX_KERNELS], "graph_launches": graph_launches, "missing": why}


def row_of(name: str, launches: int, device_ns: int) -> dict:
    return {
        "name": name, "launches": launches, "device_ns": device_ns,
        "origin": kernel_names.origin(name), "tensor_core": kernel_names.uses_tensor_cores(name),
    }
