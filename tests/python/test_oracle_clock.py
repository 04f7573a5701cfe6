"""What the clock asks of the oracle's cases."""

import unittest

from oracle_harness import TASKS, Oracle, torch


class TimedCases(unittest.TestCase):
    def setUp(self):
        self.oracle = Oracle(path=TASKS / "linear_gelu.py")
        self.addCleanup(self.oracle.close)
        self.case = self.oracle.prepare(weights=6)["case"]

    def test_fresh_inputs_are_judged_by_their_own_reference(self):
        oracle = self.oracle.oracle
        described, outputs = oracle.case_values(self.case)
        self.assertEqual(described["leaves"][0]["shape"], [64, 384])
        self.assertEqual(outputs["leaves"][0]["shape"], [64, 512])
        fresh = oracle.draw_inputs(self.case, 99)
        self.assertFalse(torch.equal(fresh[0], oracle.draw_inputs(self.case, 98)[0]))
        self.assertTrue(torch.equal(fresh[0], oracle.draw_inputs(self.case, 99)[0]))
        answer = self.oracle.honest(self.case)(fresh)
        reply = oracle.verify_outputs(self.case, fresh, answer, None)
        self.assertIsNone(reply["structure"])
        self.assertEqual(reply["outputs"][0]["failing"], 0)
        stale = self.oracle.honest(self.case)(oracle.draw_inputs(self.case, 98))
        self.assertGreater(oracle.verify_outputs(self.case, fresh, stale, None)["outputs"][0]["failing"], 0)


if __name__ == "__main__":
    unittest.main()
