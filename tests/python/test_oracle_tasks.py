"""Every task of tasks/torch: PyTorch's own answer passes every probe, no impostor passes all."""

import unittest

from oracle_harness import TASKS, VALUE_PROBES, Oracle, passed

# Which probes may be dropped, and where a task's own words are not "none".
NO_REAL_INPUTS = {"mixed-signs", "offset-mean", "scale-range", "outliers", "one-hot", "special-values"}
MAY_DROP = {
    "kl_div": {"offset-mean", "scale-range", "special-values"},
    "embedding": NO_REAL_INPUTS,
    "log_sqrt": {"special-values"},  # positive inputs
    "dropout_linear": {"special-values"},
}
# And which must be, with the words of the reason.
MUST_DROP = {"log_sqrt": {"special-values": "the probe does not apply to these inputs"}}
RANDOM = {"dropout_linear"}


class Tasks(unittest.TestCase):
    def test_a_probe_on_which_the_reference_raises_is_dropped_with_its_words(self):
        oracle = Oracle("""
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        if not bool(torch.isfinite(x).all()):
            raise ValueError("finite numbers only")
        return torch.relu(x)
def get_inputs():
    return [torch.randn(16, 32)]
""")
        self.addCleanup(oracle.close)
        dropped = oracle.prepare("special-values")
        self.assertIsNone(dropped["case"])
        self.assertIn("raises ValueError: finite numbers only", dropped["dropped"])
        self.assertIsNone(oracle.prepare("mixed-signs")["dropped"])

    def test_a_reference_that_asks_the_clock_is_void(self):
        """Random in a way that no seed repeats: nothing can be compared with it, nor its figures."""
        oracle = Oracle("""
import time
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + time.time_ns() % 1000003
def get_inputs():
    return [torch.randn(16, 32)]
""")
        self.addCleanup(oracle.close)
        self.assertEqual(oracle.opened["randomness"], "void")
        self.assertEqual(oracle.opened["void"], "two calls with the same inputs and random state differ")


def _test(path):
    name = path.stem

    def test(self):
        oracle = Oracle(path=path)
        self.addCleanup(oracle.close)
        self.assertIsNone(oracle.opened["void"])
        expected = "statistical" if name in RANDOM else "none"
        self.assertEqual(oracle.opened["randomness"], expected)
        allowed = MAY_DROP.get(name, set())
        cases = []
        for probe in VALUE_PROBES:
            weights = 41 if len(cases) % 2 else "given"
            with self.subTest(probe=probe, weights=weights):
                case = oracle.prepare(probe, weights=weights)
                if reason := MUST_DROP.get(name, {}).get(probe):
                    self.assertIn(reason, case["dropped"] or "not dropped")
                if case["dropped"]:
                    self.assertIn(probe, allowed, case["dropped"])
                    continue
                cases.append(case["case"])
                reply = oracle.judge(case["case"])
                self.assertTrue(passed(reply), reply)
        self.assertGreaterEqual(len(cases), 3)
        rows = oracle.ask("impostors", cases=cases)["impostors"]
        self.assertTrue(all(row["rejected"] for row in rows), rows)
        self.assertTrue(rows or name in RANDOM)

    return test


for _path in sorted(TASKS.glob("*.py")):
    setattr(Tasks, f"test_{_path.stem}", _test(_path))

if __name__ == "__main__":
    unittest.main()
