"""What `verify` sees: values, structure, inputs, guard bands, poison, state, staleness."""

import unittest

from oracle_harness import VALUE_PROBES, Oracle, passed, torch, view
from fiel_worker.oracle.bound import ErrorModel, unwritten_in

NORMALISED = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 48)
        self.norm = torch.nn.BatchNorm1d(48)
    def forward(self, x):
        return self.norm(self.linear(x))
def get_inputs():
    return [torch.rand(32, 64)]
def get_init_inputs():
    return []
"""
SOFTMAX = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
def get_inputs():
    return [torch.rand(4, 100003)]
"""
NESTED = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, m):
        y = x * m
        return {"sum": y.sum(-1), "pair": (y, y.argmax(-1)), "scale": 2.5}
def get_inputs():
    return [torch.rand(8, 33), torch.rand(8, 33) > 0.5]
"""


class Values(unittest.TestCase):
    def test_reference_passes_every_probe_and_other_weights(self):
        oracle = Oracle(NORMALISED)
        for probe in VALUE_PROBES:
            for weights in ("given", 77):
                with self.subTest(probe=probe, weights=weights):
                    case = oracle.prepare(probe, weights=weights)
                    self.assertIsNone(case["dropped"])
                    self.assertTrue(passed(oracle.judge(case["case"])))
        oracle.close()

    def test_the_cost_of_a_case_is_told(self):
        oracle = Oracle(NORMALISED)
        self.addCleanup(oracle.close)
        self.assertGreater(oracle.opened["prepare_s"], 0)
        self.assertGreater(oracle.prepare()["prepare_s"], 0)

    def test_zeros_and_the_first_part_of_a_softmax_fail(self):
        """J-01: the right answer is smaller than any fixed tolerance."""
        oracle = Oracle(SOFTMAX)
        case = oracle.prepare()["case"]
        self.assertTrue(passed(oracle.judge(case)))

        def partial(inputs):
            y = torch.softmax(inputs[0], -1)
            y[:, 1000:] = 0
            return y

        reply = oracle.judge(case, lambda inputs: torch.zeros_like(inputs[0]))
        self.assertGreater(reply["outputs"][0]["worst_ratio"], 100)
        self.assertLess(reply["outputs"][0]["expected"], 1e-4)
        self.assertEqual(reply["outputs"][0]["got"], 0)
        self.assertFalse(passed(oracle.judge(case, partial)))
        # The task is sound: zeros are no impostor that passes.
        other = oracle.prepare(seed=6)["case"]
        for row in oracle.ask("impostors", cases=[case, other])["impostors"]:
            self.assertTrue(row["rejected"], row)
        oracle.close()

    def test_outputs_that_are_nowhere_are_wrong_and_no_fault(self):
        oracle = Oracle(SOFTMAX)
        self.addCleanup(oracle.close)
        case = oracle.prepare()["case"]
        for change in ({"offset": None}, {"offset": 1 << 50}, {"offset": -4}, {"stride": [1]},
                       {"stride": ["x", 1]}):
            reply = oracle.judge(case, after=lambda o, placed, value: value["leaves"][0].update(change))
            self.assertIn("nowhere", reply["structure"], change)

    def test_nested_values_in_any_strides(self):
        oracle = Oracle(NESTED)
        case = oracle.prepare("mixed-signs")["case"]
        self.assertTrue(passed(oracle.judge(case)))
        honest = oracle.honest(case)
        reply = oracle.judge(case, lambda i: honest(i) | {"scale": 2.0})
        self.assertIn("scale", reply["structure"])
        reply = oracle.judge(case, lambda i: honest(i) | {"sum": honest(i)["sum"].double()})
        self.assertIn("float64", reply["structure"])
        reply = oracle.judge(case, lambda i: honest(i) | {"pair": [*honest(i)["pair"]]})
        self.assertIn("tuple", reply["structure"])
        oracle.close()


class Effects(unittest.TestCase):
    def setUp(self):
        self.oracle = Oracle(NORMALISED)
        self.case = self.oracle.prepare()["case"]

    def tearDown(self):
        self.oracle.close()

    def test_modified_input_is_named(self):
        def answer(inputs):
            y = self.oracle.honest(self.case)(inputs)
            inputs[0][3, 5] += 1
            return y

        [row] = self.oracle.judge(self.case, answer)["inputs_modified"]
        self.assertEqual((row["path"], row["element"]), ("0", 3 * 64 + 5))
        self.assertAlmostEqual(row["is"] - row["was"], 1, places=5)

    def test_guard_bands_of_both_windows(self):
        def after(oracle, placed, value):
            window = oracle.oracle.windows[oracle.inputs]
            window.flat[placed["inputs"]["leaves"][0]["offset"] + 32 * 64 * 4] = 1
            leaf = value["leaves"][0]
            oracle.oracle.windows[oracle.outputs].flat[leaf["offset"] - 1] = 1

        first, second = self.oracle.judge(self.case, after=after)["guards"]
        self.assertEqual((first["path"], first["side"], first["byte"]), ("0", "after", 0))
        self.assertEqual((second["side"], second["byte"]), ("before", -1))

    def test_poison_that_stays(self):
        def after(oracle, placed, value):
            view(oracle.oracle.windows[oracle.outputs], value["leaves"][0]).view(torch.int32)[2:4] = -1

        [row] = self.oracle.judge(self.case, after=after)["unwritten"]
        self.assertEqual(row["elements"], 2 * 48)

    def test_answer_of_an_earlier_case_is_stale(self):
        later = self.oracle.prepare(seed=9)["case"]
        old = self.oracle.honest(self.case)(self.oracle.oracle.cases.inputs(
            self.oracle.oracle.cases.get(self.case)))
        self.assertEqual(self.oracle.judge(later, lambda _: old)["stale"], self.case)
        self.assertIsNone(self.oracle.judge(later)["stale"])


class Poison(unittest.TestCase):
    def test_a_right_answer_may_have_the_bits_of_the_poison(self):
        """0x3d3d3d3d is 0.0462: one of a hundred million products is that number."""
        poison = torch.full((4,), 0x3D3D3D3D, dtype=torch.int32).view(torch.float32)
        expected = torch.tensor([1.0, -2.0, 0.5, 0.0], dtype=torch.float64)
        expected[3] = poison[3].double() * (1 + 2.0**-23)
        model = ErrorModel(torch.float32)
        answer = expected.to(torch.float32)
        answer[3] = poison[3]
        self.assertEqual(unwritten_in(expected, answer, model, "fp32", 0x3D), 0)
        answer[1] = poison[1]
        self.assertEqual(unwritten_in(expected, answer, model, "fp32", 0x3D), 1)
        whole = torch.full((4,), 0x3D3D3D3D, dtype=torch.int32)
        right = torch.tensor([0x3D3D3D3D, 1, 2, 3])
        self.assertEqual(unwritten_in(right, whole, ErrorModel(torch.int32), "fp32", 0x3D), 3)


if __name__ == "__main__":
    unittest.main()
