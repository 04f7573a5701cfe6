"""No element among millions looks insensitive by chance: honest TF32 passes, cheats do not."""

import unittest
from unittest import mock

from oracle_harness import Oracle, passed, torch
from fiel_worker.oracle import expectation
from test_oracle_numerics import narrowed

CHAIN = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return {tail}
def get_inputs():
    return [torch.rand(1800, 96), torch.rand(96, 1000)]
"""
TAILS = {"alone": "a @ b", "scaled": "(a @ b) * 1.5 + 0.25", "reduced": "torch.logsumexp((a @ b).view(1800, 250, 4), -1)"}


def exact(a, b):
    a, b = a.double(), b.double()
    return (2 * a.square() @ b.square() + (a @ b).square()).sqrt()


class Tail(unittest.TestCase):
    def open(self, name, trials):
        patches = {2: {"FEWEST_TRIALS_FLOPS": 1.0}, 4: {"FEW_TRIALS_FLOPS": 1.0}, 8: {}}[trials]
        for key, value in patches.items():
            self.enterContext(mock.patch.object(expectation, key, value))
        oracle = Oracle(CHAIN.format(tail=TAILS[name]))
        self.addCleanup(oracle.close)
        return oracle

    def test_no_sensitivity_is_far_below_the_exact_one(self):
        for name, least in (("alone", 0.999), ("scaled", 0.7)):
            for trials in (2, 4):
                with self.subTest(name, trials=trials):
                    oracle = self.open(name, trials)
                    case = oracle.oracle.cases.get(oracle.prepare("outliers")["case"])
                    found = oracle.oracle.cases.expectation(case).outputs[0].model.sensitivity
                    wanted = exact(*oracle.oracle.cases.inputs(case)) * (1.5 if name == "scaled" else 1)
                    ratio = found / wanted
                    self.assertGreater(float(ratio.min()), least)
                    self.assertLess(float(ratio.square().mean().sqrt()), 1.5)

    def test_sums_that_cancel_keep_what_their_terms_round_by(self):
        """Two outliers of opposite signs in one window: drawn signs may cancel as they do."""
        for tail in ("torch.nn.functional.avg_pool2d(a.view(8, 8, 225, 12), 3, 1, 1)", "a.sum(-1)", "a.mean(0)"):
            source = CHAIN.format(tail=tail).replace("(self, a, b)", "(self, a)").replace(
                ", torch.rand(96, 1000)]", "]")
            oracle = Oracle(source)
            self.addCleanup(oracle.close)
            number = oracle.prepare("outliers")["case"]
            case = oracle.oracle.cases.get(number)
            [a], e = oracle.oracle.cases.inputs(case), oracle.oracle.cases.expectation(case).outputs[0]
            n = {"t": 9, "a": 1}[tail[0]] if "mean" not in tail else 1800
            squares = eval(tail, {"torch": torch, "a": a.double().square()}) / n
            wanted = (squares + e.reference.square()).sqrt()
            self.assertTrue(torch.allclose(e.model.sensitivity, wanted, rtol=1e-4))
            self.assertTrue(passed(oracle.judge(number)))

    def test_honest_tf32_passes_and_cheats_fail(self):
        for name in TAILS:
            def through(product, name=name):
                code = TAILS[name].replace("a @ b", "product")
                return lambda i: eval(code, {"torch": torch, "product": product(*i)})

            tf32 = through(lambda a, b: narrowed(a, 10) @ narrowed(b, 10))
            bf16 = through(lambda a, b: a.bfloat16().float() @ b.bfloat16().float())
            lost = through(lambda a, b: a[:, :-1] @ b[:-1])
            oracle = self.open(name, 4)
            with self.subTest(name):
                for probe in ("outliers", "mixed-signs"):
                    case = oracle.prepare(probe)["case"]
                    honest, product = oracle.judge(case), oracle.judge(case, tf32, lowest="tf32")
                    self.assertTrue(passed(honest) and passed(product))
                    self.assertEqual(honest["outputs"][0]["class"], "fp32")
                    self.assertLess(honest["outputs"][0]["worst_ratio"], 0.6)
                    self.assertLess(product["outputs"][0]["worst_ratio"], 0.8)
                    self.assertFalse(passed(oracle.judge(case, lost, lowest="tf32")))
                self.assertFalse(passed(oracle.judge(case, bf16, lowest="tf32")))


if __name__ == "__main__":
    unittest.main()
