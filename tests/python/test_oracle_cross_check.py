"""The float64 reference against the CPU's: which cases are small enough, and what a difference says.

There is one device here, so that it is called another for the duration of a check.
"""

import dataclasses
import types
import unittest
from unittest import mock

from oracle_harness import Oracle, torch
from fiel_worker.oracle import cases

# A KernelBench task's size: 128 MiB of inputs in float64, and variants of a few rows.
LARGE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2048, 64)
    def forward(self, x):
        return self.linear(x)
def get_inputs():
    return [torch.rand(8192, 2048)]
"""


class Sizes(unittest.TestCase):
    def test_values_weights_and_operations_count_each(self):
        few, many = [torch.empty(1000, device="meta")], [torch.empty(5 << 20, device="meta")]
        run = types.SimpleNamespace(operations=10, flops={"fp32": 1e9})
        self.assertTrue(cases.fits_the_cpu(few, few, run))
        self.assertFalse(cases.fits_the_cpu(many, few, run))
        self.assertTrue(cases.fits_the_cpu(few, many, run), "weights may be more")
        self.assertFalse(cases.fits_the_cpu(few, 8 * many, run))
        self.assertFalse(cases.fits_the_cpu(few, few, types.SimpleNamespace(operations=5000, flops={})))
        long = types.SimpleNamespace(operations=10, flops={"fp32": 1e9, "bf16": 400e9})
        self.assertFalse(cases.fits_the_cpu(few, few, long))


class Checked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.oracle = Oracle(LARGE)
        cls.cases = cls.oracle.oracle.cases

    @classmethod
    def tearDownClass(cls):
        cls.oracle.close()

    def setUp(self):
        self.cases._checked = False

    def case(self, variant=""):
        number = self.oracle.prepare(shape_variant=variant)["case"]
        return self.cases.get(number)

    def check(self, case, expectation=None):
        """The complaint, and whether there was a check at all."""
        with mock.patch.object(self.cases.task, "device", "elsewhere"):
            complaint = self.cases._cross_check(case, expectation or self.cases.expectation(case))
        return complaint, self.cases._checked

    def test_a_task_of_large_shapes_is_checked_at_a_small_variant_once(self):
        self.assertEqual(self.check(self.case()), (None, False), "too large")
        small = self.case("batch=1")
        self.assertEqual(self.check(small), (None, True))
        with mock.patch.object(cases, "expect", side_effect=AssertionError("again")):
            self.assertEqual(self.check(small), (None, True))

    def test_a_difference_is_said(self):
        small = self.case("batch=1")
        right = self.cases.expectation(small)
        wrong = dataclasses.replace(right.outputs[0], reference=right.outputs[0].reference * (1 + 1e-9))
        complaint, checked = self.check(small, dataclasses.replace(right, outputs=[wrong]))
        self.assertTrue(checked)
        self.assertIn("on the device and on the CPU disagree", complaint)

    def test_a_model_that_the_cpu_cannot_run_is_not_in_doubt(self):
        small = self.case("batch=1")
        right = self.cases.expectation(small)
        with mock.patch.object(cases, "expect", side_effect=RuntimeError("tensors on two devices")):
            self.assertEqual(self.check(small, right), (None, True))

    def test_on_the_cpu_there_is_nothing_to_compare_with(self):
        small = self.case("batch=1")
        self.assertIsNone(self.cases._cross_check(small, self.cases.expectation(small)))
        self.assertFalse(self.cases._checked)


if __name__ == "__main__":
    unittest.main()
