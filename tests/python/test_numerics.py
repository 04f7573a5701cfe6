"""Numerics policies: flags that read as they were set, and errors that show a false one."""

import unittest

from clock_harness import torch
from fiel_worker import numerics
from fiel_worker.channel import Fault


class Policies(unittest.TestCase):
    def tearDown(self):
        numerics.apply("default")

    def test_every_policy_reads_as_it_was_applied(self):
        wanted = {
            "fp32": (False, False), "default": (False, True), "tf32": (True, True),
            "bf16": (False, False), "fp16": (False, False),
        }
        for policy in numerics.POLICIES:
            found = numerics.apply(policy)
            self.assertEqual((found["matmul_tf32"], found["cudnn_tf32"]), wanted[policy], policy)

    def test_a_fresh_process_has_the_policy_default(self):
        import subprocess
        import sys

        code = "from fiel_worker import numerics; numerics.assert_applied('default')"
        path = {"PYTHONPATH": sys.path[0]}
        ran = subprocess.run([sys.executable, "-c", code], env=path | {"HOME": "/tmp"})
        self.assertEqual(ran.returncode, 0)

    def test_a_switch_thrown_later_is_seen(self):
        numerics.apply("fp32")
        torch.backends.cudnn.allow_tf32 = True
        with self.assertRaises(Fault):
            numerics.assert_applied("fp32")

    def test_a_write_through_the_other_interface_is_a_fault_not_a_crash(self):
        numerics.apply("fp32")
        if not hasattr(torch.backends.cudnn, "conv"):
            self.skipTest("this PyTorch has one interface only")
        torch.backends.cudnn.conv.fp32_precision = "tf32"
        try:
            with self.assertRaises(Fault):
                numerics.assert_applied("fp32")
        finally:
            torch.backends.cudnn.conv.fp32_precision = "none"

    def test_errors_of_float32_are_those_of_float32(self):
        for name, error in numerics.measure("fp32", "cpu").items():
            self.assertLess(error, 2e-6, name)

    def test_the_compiler_lives_with_the_flags(self):
        from torch._inductor.kernel import bmm  # noqa: F401  its templates read the old interface

        numerics.apply("fp32")
        self.assertIs(torch.backends.cuda.matmul.allow_tf32, False)
        self.assertIs(torch.backends.cudnn.allow_tf32, False)


if __name__ == "__main__":
    unittest.main()
