"""What the profiled pass makes of a profiler's events; the profiler and the GPU are stand-ins."""

import contextlib
import types
import unittest
from unittest import mock

from runner_harness import Runner, torch

from fiel_worker.runner import evidence

CUDA, CPU = torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.CPU


def event(name, ns=0, device=CUDA, annotation=False):
    return types.SimpleNamespace(
        name=lambda: name, duration_ns=lambda: ns, device_type=lambda: device,
        is_user_annotation=lambda: annotation,
    )


def observed(events, forward=lambda: None):
    seen = types.SimpleNamespace(
        profiler=types.SimpleNamespace(kineto_results=types.SimpleNamespace(events=lambda: events))
    )
    profile = lambda **_: contextlib.nullcontext(seen)
    with mock.patch("torch.cuda.synchronize"), mock.patch("torch.profiler.profile", profile):
        return evidence.observe(forward, "cuda:0")


class Observed(unittest.TestCase):
    def test_launches_and_device_times_add_up_by_name_the_longest_first(self):
        gemm = "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_cublas"
        seen = observed([
            event("mine(float*)", 100), event(gemm, 700), event("mine(float*)", 150),
            event("void at::native::vectorized_elementwise_kernel<4>", 50),
            event("aten::mm", 5000, device=CPU), event("my range", 9000, annotation=True),
        ])
        self.assertEqual(
            [(k["origin"], k["launches"], k["device_ns"], k["tensor_core"]) for k in seen["kernels"]],
            [("library", 1, 700, True), ("own", 2, 250, False), ("framework", 1, 50, False)],
        )
        self.assertEqual((seen["graph_launches"], seen["missing"]), (0, None))

    def test_launches_of_graphs_are_counted_beside_their_kernels(self):
        seen = observed([
            event("cudaGraphLaunch", device=CPU), event("cuGraphLaunch", device=CPU), event("mine", 10),
        ])
        self.assertEqual((seen["graph_launches"], len(seen["kernels"])), (2, 1))

    def test_a_profiler_that_saw_nothing_says_so(self):
        seen = observed([event("aten::mm", 5000, device=CPU)])
        self.assertEqual(seen["kernels"], [])
        self.assertIn("saw no kernel", seen["missing"])

    def test_the_profiled_call_is_not_the_first(self):
        calls = []
        observed([], lambda: calls.append(1))
        self.assertEqual(len(calls), 2)


class Asked(unittest.TestCase):
    TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.randn(4)]
def get_init_inputs():
    return []
"""

    def test_without_a_gpu_the_reply_says_why_there_is_nothing(self):
        with Runner() as runner:
            module = runner.load(runner.file("task.py", self.TASK))["module"]
            window, inputs = runner.place([torch.randn(4)])
            reply = runner.ask("evidence", module=module, window=window, inputs=inputs)
        self.assertEqual((reply["kernels"], reply["graph_launches"]), ([], 0))
        self.assertIn("on a GPU only", reply["missing"])


if __name__ == "__main__":
    unittest.main()
