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
RANDOM = {"dropout_linear"}


class Tasks(unittest.TestCase):
    pass


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
