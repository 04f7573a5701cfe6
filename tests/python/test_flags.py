"""PyTorch's numerics flags are those of the policy before every run: in a call, a build and in the
oracle (of timed turns: test_runner_time.py)."""

import unittest

from clock_harness import torch
from oracle_harness import Fault, Oracle
from runner_harness import Refused, Runner
from fiel_worker import numerics

FLIPS = {
    "matmul_tf32": "torch.backends.cuda.matmul.allow_tf32 = True",
    "cudnn_tf32": "torch.backends.cudnn.allow_tf32 = True",
    "cudnn_benchmark": "torch.backends.cudnn.benchmark = True",
    "cudnn_enabled": "torch.backends.cudnn.enabled = False",
    "fp16_reduced_reduction":
        "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True",
    "bf16_reduced_reduction":
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True",
}
MODEL = """
import torch
{at_import}
class Model(torch.nn.Module):
    calls = 0
    def __init__(self):
        super().__init__()
        {in_constructor}
    def forward(self, x):
        Model.calls += 1
        if Model.calls == {call}:
            {in_forward}
        return torch.relu(x)
def get_inputs():
    return [torch.randn(8, 8)]
def get_init_inputs():
    return []
"""


def model(at_import="", in_constructor="pass", in_forward="pass", call=2) -> str:
    return MODEL.format(at_import=at_import, in_constructor=in_constructor, in_forward=in_forward,
                        call=call)


class Asserted(unittest.TestCase):
    def tearDown(self):
        numerics.apply("default")

    def test_every_flag_that_is_applied_is_compared(self):
        for name, flip in FLIPS.items():
            with self.subTest(name):
                numerics.apply("fp32")
                exec(flip, {"torch": torch})
                with self.assertRaises(Fault) as caught:
                    numerics.assert_applied("fp32")
                self.assertIn(name, caught.exception.message)


class InARunner(unittest.TestCase):
    def refused(self, source: str, act) -> Refused:
        with Runner() as runner:
            loaded = runner.load(runner.file("task.py", source), policy="fp32")
            runner.call(loaded["module"], [torch.randn(8, 8)])
            runner.call(loaded["module"], [torch.randn(8, 8)])  # this one throws the switch
            with self.assertRaises(Refused) as caught:
                act(runner, loaded["module"])
            return caught.exception

    def test_a_flag_flipped_between_calls_stops_the_next(self):
        for name in ("cudnn_tf32", "cudnn_benchmark"):
            fault = self.refused(model(in_forward=FLIPS[name]),
                                 lambda runner, module: runner.call(module, [torch.randn(8, 8)]))
            self.assertEqual(fault.fault, "worker")
            self.assertIn(name, str(fault))

    def test_and_the_next_build_of_a_compiled_one(self):
        flips = model(in_forward=FLIPS["matmul_tf32"], call=1)
        with Runner() as runner:
            compiled = runner.load(runner.file("task.py", model()), compile="default", policy="fp32")
            other = runner.load(runner.file("other.py", flips), policy="fp32")
            runner.call(other["module"], [torch.randn(8, 8)])
            window, inputs = runner.place([torch.randn(8, 8)])
            with self.assertRaises(Refused) as caught:
                runner.ask("build", module=compiled["module"], window=window, inputs=inputs)
            self.assertIn("matmul_tf32", str(caught.exception))

    def test_what_a_file_sets_where_it_is_imported_or_built_does_not_last(self):
        for source in (model(at_import=FLIPS["matmul_tf32"]),
                       model(in_constructor=FLIPS["cudnn_benchmark"])):
            with Runner() as runner:
                loaded = runner.load(runner.file("task.py", source), policy="fp32")
                self.assertFalse(loaded["flags"]["asserted"]["matmul_tf32"])
                runner.call(loaded["module"], [torch.randn(8, 8)])


class InTheOracle(unittest.TestCase):
    def tearDown(self):
        numerics.apply("default")

    def test_a_reference_that_flips_a_flag_is_the_tasks_fault_and_never_compared(self):
        with self.assertRaises(Fault) as caught:
            Oracle(model(in_forward=FLIPS["cudnn_tf32"]))
        self.assertEqual(caught.exception.kind, "task")
        self.assertIn("cudnn_tf32", caught.exception.message)

    def test_every_operation_that_runs_the_reference_looks(self):
        oracle = Oracle(model())
        number = oracle.prepare()["case"]
        torch.backends.cudnn.allow_tf32 = True
        placed = {"tree": {"leaf": 0}, "leaves": []}
        for op, fields in (("prepare", {}), ("verify", {"case": number, "outputs": placed}),
                           ("impostors", {"cases": [number]})):
            with self.assertRaises(Fault) as caught:
                oracle.ask(op, **fields)
            self.assertIn("cudnn_tf32", caught.exception.message, op)
        with self.assertRaises(Fault):
            oracle.oracle.verify_outputs(number, [], [], "fp32")
        oracle.close()

    def test_what_the_file_sets_where_it_is_imported_does_not_last(self):
        oracle = Oracle(model(at_import=FLIPS["matmul_tf32"], in_constructor=FLIPS["cudnn_tf32"]))
        self.assertIsNone(oracle.prepare()["dropped"])
        oracle.close()
        oracle.ask("reset")
        numerics.assert_applied("fp32")


if __name__ == "__main__":
    unittest.main()
