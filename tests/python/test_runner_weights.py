"""J-03: the same maths with another initialiser, under every name and layout."""

import unittest

from runner_harness import Runner, torch

TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = torch.nn.Conv3d(3, channels, (3, 5, 7), bias=False)
    def forward(self, x):
        return self.conv(x)
def get_inputs():
    return [torch.randn(2, 3, 8, 8, 8)]
def get_init_inputs():
    return [8]
"""

CANDIDATE = """
import torch, torch.nn.functional as F
class ModelNew(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        {init}
    def forward(self, x):
        return F.conv3d(x, {weight})
"""
SHAPE = "channels, 3, 3, 5, 7"


def candidate(name: str, shape: str = SHAPE, use: str | None = None) -> str:
    init = f"self.{name} = torch.nn.Parameter(torch.randn({shape}))"
    return CANDIDATE.format(init=init, weight=use or f"self.{name}")


class OtherInitialiser(unittest.TestCase):
    def judge(self, source: str):
        """(report of weights, whether the answer is the reference's)."""
        torch.manual_seed(5)
        weight, x = torch.randn(8, 3, 3, 5, 7), torch.randn(2, 3, 8, 8, 8)
        with Runner() as runner:
            task = runner.file("task.py", TASK)
            loaded = runner.load(task, runner.file("candidate.py", source))
            report = runner.give_weights(loaded["module"], {"conv.weight": weight})
            out, _ = runner.call(loaded["module"], [x])
        expected = torch.nn.functional.conv3d(x, weight)
        return report, torch.allclose(out, expected, rtol=1e-4, atol=1e-4)

    def test_own_parameter_of_the_same_last_name(self):
        report, right = self.judge(candidate("weight"))
        self.assertTrue(right)
        self.assertEqual(report["copied"], ["conv.weight"])
        self.assertEqual((report["unmatched"], report["extra"]), ([], []))
        self.assertEqual(report["how"], "by_shape")

    def test_own_parameter_of_another_name(self):
        report, right = self.judge(candidate("w"))
        self.assertTrue(right)
        self.assertEqual(report["renamed"], [["conv.weight", "w", "shape"]])

    def test_transposed_weight_is_declared_unmatched(self):
        source = candidate("weight", "3, 5, 7, 3, channels", "self.weight.permute(4, 3, 0, 1, 2)")
        report, right = self.judge(source)
        self.assertFalse(right)
        self.assertEqual(report["how"], "seed_replay")
        (unmatched,) = report["unmatched"]
        self.assertEqual(unmatched["name"], "conv.weight")
        self.assertEqual(unmatched["shape"], [8, 3, 3, 5, 7])
        self.assertEqual(unmatched["candidate_shape"], [3, 5, 7, 3, 8])

    def test_weights_go_into_the_same_storage_again(self):
        source = candidate("weight").replace(
            "        return", "        self.kept = getattr(self, 'kept', self.weight.data_ptr())\n"
            "        assert self.kept == self.weight.data_ptr()\n        return"
        )
        x = torch.randn(2, 3, 8, 8, 8)
        with Runner() as runner:
            module = runner.load(
                runner.file("task.py", TASK), runner.file("candidate.py", source)
            )["module"]
            for seed in (1, 2):
                torch.manual_seed(seed)
                weight = torch.randn(8, 3, 3, 5, 7)
                runner.give_weights(module, {"conv.weight": weight})
                out, _ = runner.call(module, [x])
                expected = torch.nn.functional.conv3d(x, weight)
                self.assertTrue(torch.allclose(out, expected, rtol=1e-4, atol=1e-4))

    def test_the_reference_has_every_leaf_by_name(self):
        with Runner() as runner:
            loaded = runner.load(runner.file("task.py", TASK))
            self.assertEqual(loaded["weights"], [["conv.weight", [8, 3, 3, 5, 7], "float32"]])
            report = runner.give_weights(loaded["module"], {"conv.weight": torch.ones(8, 3, 3, 5, 7)})
            self.assertEqual(report["how"], "state_dict")


if __name__ == "__main__":
    unittest.main()
