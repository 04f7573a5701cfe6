"""What a native task says of its inputs comes before what draws let one guess."""

import unittest

from oracle_harness import Fault, Oracle, flatten, tensors_of, torch

SOURCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, scale, rows):
        return x * scale + rows.to(x.dtype)

def get_inputs():
    return [torch.randn(64, 32), torch.rand(32) + 0.5, torch.randint(0, 3, (64, 1))]

def get_init_inputs():
    return []
"""


class Domains(unittest.TestCase):
    def open(self, domains) -> Oracle:
        oracle = Oracle.__new__(Oracle)
        ask = Oracle.ask
        oracle.ask = lambda op, **m: ask(oracle, op, **(m | {"domains": domains} if op == "open_task" else m))
        oracle.__init__(source=SOURCE, mode="eval")
        self.addCleanup(oracle.close)
        return oracle

    def drawn(self, oracle: Oracle, probe: str):
        case = oracle.prepare(probe)
        self.assertIsNone(case["dropped"])
        placed = oracle.ask("place", case=case["case"], **{"in": oracle.inputs}, out=oracle.outputs,
                            poison=255)
        inputs = tensors_of(oracle.oracle.windows[oracle.inputs], placed["inputs"])
        return [t for _, t in flatten(inputs)[1]]

    def test_positive_stays_positive_where_the_module_takes_negatives(self):
        for probe in ("mixed-signs", "scale-range", "offset-mean"):
            guessed = self.drawn(self.open(None), probe)[1]
            declared = self.drawn(self.open(["real", "positive", "index"]), probe)[1]
            self.assertTrue(bool((declared > 0).all()), probe)
            if probe == "mixed-signs":
                self.assertTrue(bool((guessed < 0).any()))

    def test_they_are_told_back(self):
        oracle = self.open(["real", "positive", "index"])
        kinds = [leaf["domain"]["kind"] for leaf in oracle.opened["inputs"]]
        self.assertEqual(kinds, ["real", "positive", "index"])

    def test_of_every_input_and_by_their_names(self):
        for wrong in (["real"], ["real", "positive", "whatever"], "real"):
            with self.subTest(wrong), self.assertRaises(Fault):
                self.open(wrong)


if __name__ == "__main__":
    unittest.main()
