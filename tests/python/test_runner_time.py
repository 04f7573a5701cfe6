"""A runner process inside its timed loop, spoken to as the judge and the oracle do."""

import os
import shutil
import threading
import unittest
from unittest import mock

from clock_harness import SHAPE, Descriptors, SimpleOracle
from fiel_worker import control
from runner_harness import Refused, Runner

TASK = f"""
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return [torch.relu(x)]
def get_inputs():
    return [torch.randn{SHAPE}]
def get_init_inputs():
    return []
"""
CANDIDATE = """
import threading
import torch
LOADED = threading.get_ident()
class ModelNew(torch.nn.Module):
    def forward(self, x):
        print("said in the loop")
        {body}
"""


class Timed(unittest.TestCase):
    def setUp(self):
        self.oracle, self.threads, self.replies, self.pages = SimpleOracle(), [], {}, []
        self.trusted, self.hostile = Runner(), Runner()
        self.task = self.trusted.file("task.py", TASK)

    def tearDown(self):
        for runner in (self.trusted, self.hostile):
            runner.process.kill()
            runner.close()
        for thread in self.threads:
            thread.join(10)
        for page in self.pages:
            os.close(page)

    def enter(self, runner: Runner, module: int, count: int = 2) -> dict:
        size = self.oracle.op_slots({"case": 1, "count": count}, None)
        fields = {}
        for name in ("inputs", "outputs"):
            number, self.oracle.windows[len(self.oracle.windows) + 1] = runner.window(
                size[f"{name}_bytes"]
            )
            fields[f"{name}_window"] = number
        own = len(self.oracle.windows)
        laid = self.oracle.op_slots(
            {"case": 1, "count": count, "inputs_window": own - 1, "outputs_window": own}, None
        )
        page = control.create_page()
        self.pages.append(page)

        def ask():
            try:
                self.replies[runner] = runner.ask(
                    "time", [page], module=module, slots=laid["layout"], **fields
                )
            except (Refused, EOFError, OSError) as failure:
                self.replies[runner] = failure

        self.threads.append(threading.Thread(target=ask))
        self.threads[-1].start()
        return {"slots": laid["slots"], "control": len(self.pages) - 1, "trusted": runner is self.trusted}

    def time(self, body: str, compile: str = "none") -> dict:
        reference = self.trusted.load(self.task, policy="fp32", compile=compile)["module"]
        source = self.hostile.file("candidate.py", CANDIDATE.format(body=body))
        candidate = self.hostile.load(self.task, source)["module"]
        runners = [self.enter(self.trusted, reference), self.enter(self.hostile, candidate)]
        reply = self.oracle.op_time(
            {"case": 1, "runners": runners, "seed": 7, "samples_max": 12, "calls": 2,
             "verify_share": 0.5, "entry_timeout_ms": 240_000},
            Descriptors(self.pages),
        )
        for thread in self.threads:
            thread.join(30)
        return reply

    def test_both_sides_answer_and_leave(self):
        reply = self.time("return [x.clamp(min=0)]")
        self.assertEqual(reply["failures"], [])
        self.assertEqual([r["ended"] for r in reply["runners"]], [None, None])
        self.assertEqual(self.replies[self.hostile]["calls"], 5 + 12)
        self.assertEqual(self.hostile.ask("memory", module=1)["ok"], True)

    def test_the_loop_runs_in_the_thread_that_loaded_and_called(self):
        # CUDA graphs of torch.compile belong to the thread that warmed them up.
        reply = self.time("import threading; assert threading.get_ident() == LOADED; return [x.relu()]")
        self.assertEqual([r["ended"] for r in reply["runners"]], [None, None])

    @unittest.skipUnless(shutil.which("g++"), "torch.compile needs a C++ compiler on the CPU")
    def test_a_compiled_reference_compiles_in_its_first_call(self):
        reply = self.time("return [x.clamp(min=0)]", compile="default")
        self.assertEqual(reply["failures"], [])
        self.assertEqual([r["ended"] for r in reply["runners"]], [None, None])

    def test_an_error_in_the_loop_is_the_reply(self):
        reply = self.time("raise ValueError('not today')")
        self.assertEqual(reply["runners"][1]["ended"], "call 1 raised an error")
        self.assertEqual(self.replies[self.hostile].fault, "candidate")
        self.assertIn("not today", self.replies[self.hostile].reply["error"])

    def test_a_flag_flipped_in_a_turn_stops_the_next_turn(self):
        """A reference whose numerics are no longer its policy's is not timed any more."""
        self.task = self.trusted.file("flips.py", TASK.replace("return [torch.relu(x)]", """
        self.n = getattr(self, "n", 0) + 1
        if self.n == 4:
            torch.backends.cudnn.benchmark = True
        return [torch.relu(x)]"""))
        reply = self.time("return [x.clamp(min=0)]")
        self.assertIsNotNone(reply["runners"][0]["ended"])
        self.assertEqual(self.replies[self.trusted].fault, "worker")
        self.assertIn("cudnn_benchmark", self.replies[self.trusted].reply["error"])


class Steps(unittest.TestCase):
    def test_each_call_of_compiled_graphs_is_a_step_of_its_own(self):
        import torch
        from fiel_worker.runner.module import Loaded

        module = Loaded(None, torch.relu, "reference", "cpu", {}, marks_steps=True)
        with mock.patch("torch.compiler.cudagraph_mark_step_begin") as begins:
            for _ in range(3):
                module.forward([torch.ones(2)])
        self.assertEqual(begins.call_count, 3)


class Policies(unittest.TestCase):
    def test_a_reduced_policy_casts_the_reference_and_its_inputs(self):
        with Runner() as runner:
            task = runner.file("task.py", """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)
    def forward(self, x):
        return self.layer(x)
def get_inputs():
    return [torch.randn(4, 8)]
def get_init_inputs():
    return []
""")
            import torch

            module = runner.load(task, policy="bf16")["module"]
            weights = {"layer.weight": torch.randn(4, 8), "layer.bias": torch.randn(4)}
            runner.give_weights(module, weights)
            x = torch.randn(4, 8)
            out, _ = runner.call(module, [x])
            self.assertEqual(out.dtype, torch.bfloat16)
            exact = x.double() @ weights["layer.weight"].double().T + weights["layer.bias"].double()
            error = (out.double() - exact).square().mean().sqrt() / exact.square().mean().sqrt()
            self.assertGreater(error, 1e-4)
            self.assertLess(error, 2e-2)


if __name__ == "__main__":
    unittest.main()
