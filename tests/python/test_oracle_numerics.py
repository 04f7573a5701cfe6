"""The bound and the classes: docs/numerics.md through PyTorch modules."""

import unittest
from unittest import mock

from oracle_harness import Oracle, passed, torch
from fiel_worker.oracle import cases, perturbation
from fiel_worker.oracle.bound import accepted, compare

PRODUCT = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
def get_inputs():
    return [torch.rand(96, 1000), torch.rand(1000, 64)]
"""
SUM = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=-1)
def get_inputs():
    return [torch.rand(16, 65536)]
"""
RELU = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.rand(64, 512)]
"""
SHORT_VARIANCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.var(x, dim=-1)
def get_inputs():
    return [torch.rand(512, LENGTH)]
"""
COLLAPSED = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, -0.5]))
    def forward(self, x):
        return (x.unsqueeze(-1) * self.weight).sum(dim=(1, 2))
def get_inputs():
    return [torch.rand(64, 128)]
"""
NORM = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(24)
    def forward(self, x):
        return self.norm(x)
def get_inputs():
    return [torch.rand(64, 24)]
"""
RECURRENT = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(24, 32, 3, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(64, 10)
    def forward(self, x, h, c):
        out, (h, c) = self.lstm(x, (h, c))
        return self.head(out[:, -1]), h, c
def get_inputs():
    return [torch.rand(4, 40, 24), torch.rand(6, 4, 32), torch.rand(6, 4, 32)]
"""
DRAWN_STATE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRU(24, 32, 2, batch_first=True)
    def forward(self, x):
        h = torch.randn(2, x.shape[0], 32) * 0.01 + torch.empty(2, x.shape[0], 32).uniform_() * 0.01
        return self.gru(x, h)[0][:, -1]
def get_inputs():
    return [torch.rand(4, 12, 24)]
"""


def narrowed(x, bits: int):
    """x with its mantissa rounded to `bits` explicit bits."""
    drop = 23 - bits
    whole = x.contiguous().view(torch.int32) + (1 << (drop - 1))
    return (whole >> drop << drop).view(torch.float32)


SCALED_SOFTMAX = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, w):
        return torch.softmax(x * w, dim=-1)
def get_inputs():
    return [4096 + 8 * torch.randn(1500, 29), 0.5 + torch.rand(1500, 1)]
"""


def welford(inputs):
    mean = torch.zeros(inputs[0].shape[0])
    total = torch.zeros_like(mean)
    for k, x in enumerate(inputs[0].unbind(-1)):
        difference = x - mean
        mean = mean + difference / (k + 1)
        total = total + difference * (x - mean)
    return total / k


def one_pass(inputs):
    x = inputs[0]
    n = x.shape[-1]
    return ((x * x).sum(-1) - x.sum(-1) ** 2 / n) / (n - 1)


class Numerics(unittest.TestCase):
    def open(self, source):
        oracle = Oracle(source)
        self.addCleanup(oracle.close)
        return oracle

    def test_products_are_of_the_class_that_their_operands_have(self):
        oracle = self.open(PRODUCT)
        for probe in ("task-inputs", "mixed-signs", "scale-range", "outliers"):
            case = oracle.prepare(probe)["case"]

            def tf32(i):
                return narrowed(i[0], 10) @ narrowed(i[1], 10)

            def bf16(i):
                return i[0].bfloat16().float() @ i[1].bfloat16().float()

            with self.subTest(probe):
                honest = oracle.judge(case)
                self.assertTrue(passed(honest))
                self.assertEqual(honest["outputs"][0]["class"], "fp32")
                strict = oracle.judge(case, tf32)
                self.assertFalse(passed(strict))
                self.assertEqual(strict["outputs"][0]["class"], "tf32")
                self.assertTrue(passed(oracle.judge(case, tf32, lowest="tf32")))
                if probe == "mixed-signs":  # the average of positive data hides it
                    reply = oracle.judge(case, bf16, lowest="tf32")
                    self.assertFalse(passed(reply))
                    self.assertEqual(reply["outputs"][0]["class"], "bf16")

    def test_sums_in_any_order_pass_and_lost_terms_fail(self):
        """J-25."""
        oracle = self.open(SUM)
        case = oracle.prepare("mixed-signs")["case"]
        orders = {
            "reversed": lambda i: i[0].flip(-1).sum(-1),
            "running": lambda i: i[0].cumsum(-1)[:, -1],
            "blocks": lambda i: i[0].view(16, 512, 128).sum(1).sum(-1),
        }
        for name, answer in orders.items():
            with self.subTest(name):
                self.assertTrue(passed(oracle.judge(case, answer)))
        self.assertFalse(passed(oracle.judge(case, lambda i: i[0][:, :-65].sum(-1))))
        self.assertFalse(passed(oracle.judge(case, lambda i: i[0].half().sum(-1).float())))

    def test_recurrent_layers_pass_and_wrong_ones_fail(self):
        """A layer is one operator of the error model, whatever its kernel does a step."""
        oracle = self.open(RECURRENT)
        for probe in ("task-inputs", "mixed-signs", "scale-range", "outliers"):
            for weights in ("given", 5):
                with self.subTest(probe, weights=weights):
                    case = oracle.prepare(probe, weights=weights)
                    self.assertIsNone(case["note"])
                    self.assertTrue(passed(oracle.judge(case["case"])))
                    honest = oracle.honest(case["case"])

                    def half(i):
                        return honest([x.bfloat16().float() for x in i])

                    def last_step_alone(i):
                        return honest([i[0][:, -1:], *i[1:]])

                    self.assertFalse(passed(oracle.judge(case["case"], half)))
                    shorter = oracle.judge(case["case"], last_step_alone, lowest="tf32")
                    self.assertFalse(passed(shorter))

    def test_states_that_forward_draws_are_the_same_in_float64(self):
        oracle = self.open(DRAWN_STATE)
        for probe in ("task-inputs", "mixed-signs", "offset-mean"):
            case = oracle.prepare(probe)
            self.assertIsNone(case["dropped"])
            self.assertIsNone(case["note"])
            self.assertTrue(passed(oracle.judge(case["case"])))

    def test_a_lost_nan_is_named(self):
        """J-19: fmaxf keeps the number where PyTorch keeps the NaN."""
        oracle = self.open(RELU)
        case = oracle.prepare("special-values")["case"]
        self.assertTrue(passed(oracle.judge(case)))
        reply = oracle.judge(case, lambda i: torch.fmax(i[0], torch.zeros(())))
        self.assertGreater(reply["outputs"][0]["nan_mismatches"], 0)
        self.assertEqual(reply["outputs"][0]["failing"], reply["outputs"][0]["nan_mismatches"])
        ordinary = oracle.prepare("mixed-signs")["case"]
        self.assertTrue(passed(oracle.judge(ordinary, lambda i: torch.fmax(i[0], torch.zeros(())))))

    def test_a_variance_of_few_values_may_be_welfords(self):
        """Each value moves the variance by its own size: also where two of a row are all there are."""
        for length in (2, 3, 4):
            oracle = self.open(SHORT_VARIANCE.replace("LENGTH", str(length)))
            for seed in (5, 6):
                for variant in (0, 1):
                    case = oracle.prepare("offset-mean", variant, seed)["case"]
                    self.assertTrue(passed(oracle.judge(case, welford)), (length, seed, variant))
                    self.assertFalse(passed(oracle.judge(case, one_pass)), (length, seed, variant))

    def test_sizes_of_trials_are_drawn_alike_at_every_place(self):
        drawn = perturbation._random_bytes(1 << 16, 5, "cpu").view(-1, 8).double()
        for place, mean in enumerate(drawn.mean(0).tolist()):
            self.assertAlmostEqual(mean, 127.5, delta=4, msg=f"byte {place} of a word")

    def test_the_largest_two_of_a_row_never_move_as_one(self):
        """Wherever they stand: their difference is what a softmax makes of them."""
        oracle = self.open(SCALED_SOFTMAX)
        for seed in (3, 4, 5):
            prepared = oracle.prepare("task-inputs", 0, seed)
            self.assertIsNone(prepared["note"])  # nothing had to be widened for PyTorch's own result
            self.assertTrue(passed(oracle.judge(prepared["case"])))

    def test_infinity_minus_infinity_may_stay_infinite(self):
        """A sum taken before the product: a NaN of the reference that no NaN of the inputs causes."""
        oracle = self.open(COLLAPSED)
        for variant, legal in ((0, False), (1, True)):
            case = oracle.prepare("special-values", variant)["case"]
            self.assertTrue(passed(oracle.judge(case)))

            def infinite(inputs):
                answer = oracle.honest(case)(inputs)
                return torch.where(torch.isnan(answer), torch.full_like(answer, torch.inf), answer)

            def silent(inputs):
                return torch.nan_to_num(oracle.honest(case)(inputs), nan=0.0)

            self.assertEqual(passed(oracle.judge(case, infinite)), legal)
            self.assertFalse(passed(oracle.judge(case, silent)))

    def test_running_statistics_are_compared(self):
        oracle = self.open(NORM)
        case = oracle.prepare("mixed-signs", weights=8)["case"]
        held = oracle.oracle.cases.get(case)
        expected = oracle.oracle.cases.expectation(held).state
        names = [e.path for e in expected]
        self.assertEqual(sorted(names), ["norm.num_batches_tracked", "norm.running_mean", "norm.running_var"])
        values = {e.path: e.reference.to(e.model.dtype) for e in expected}

        def state_of(changed):
            def after(oracle, placed, value):
                from fiel_worker.values import describe, layout, view

                window = oracle.oracle.windows[oracle.outputs]
                end = placed["outputs"]["offset"] + placed["outputs"]["bytes"]
                leaves = [describe(n, t) for n, t in changed.items()]
                layout(leaves, end)
                for leaf, t in zip(leaves, changed.values()):
                    view(window, leaf).copy_(t)
                self.state = {"tree": {"dict": []}, "leaves": leaves}
            return after

        def judged(changed):
            self.state = None
            oracle.judge(case, after=state_of(changed))
            placed = held.placement
            answer = oracle.honest(case)(oracle.oracle.cases.inputs(held))
            value = oracle.write(answer, placed.region)
            return oracle.ask("verify", case=case, outputs=value, lowest="fp32", state=self.state)

        self.assertTrue(passed(judged(values)))
        wrong = values | {"norm.running_mean": values["norm.running_mean"] + 0.01}
        self.assertFalse(passed(judged(wrong)))
        lacking = {n: t for n, t in values.items() if n != "norm.running_var"}
        self.assertFalse(passed(judged(lacking)))

    def test_an_update_in_fp32_may_be_written_either_way(self):
        """(1 - m) r + m v and r + m (v - r), where the inputs add next to nothing: both round r twice."""
        oracle = self.open(NORM)
        for seed in range(30):
            case = oracle.prepare("scale-range", variant=1, seed=seed, weights=seed)["case"]
            held = oracle.oracle.cases.get(case)
            expected = {e.path: e for e in oracle.oracle.cases.expectation(held).state}
            x = oracle.oracle.cases.inputs(held)[0]
            oracle.task.use_weights(held.weights)
            for name, batch in (("running_mean", x.mean(0)), ("running_var", x.var(0))):
                e, r = expected[f"norm.{name}"], getattr(oracle.task.model.norm, name).clone()
                for updated in ((1 - 0.1) * r + 0.1 * batch, r + 0.1 * (batch - r)):
                    self.assertTrue(accepted(compare(e.reference, updated, e.model, "tf32")), (seed, name))
                self.assertFalse(accepted(compare(e.reference, r * 1.00001, e.model, "fp32")))
            oracle.ask("release", case=case)


def tf32(x: torch.Tensor, truncate: bool) -> torch.Tensor:
    """What a tensor core makes of fp32 operands: cut, or rounded first."""
    bits = x.contiguous().view(torch.int32)
    bits = bits if truncate else bits + 0x0FFF + (bits >> 13 & 1)
    return torch.where(torch.isfinite(x), (bits & ~0x1FFF).view(torch.float32), x)


class Kinks(unittest.TestCase):
    """Products in TF32 that a clamp, a maximum or a threshold follows: an element beside the kink moves
    by errors of that class, though not by those of float32."""

    BODIES = ("torch.relu(y)", "torch.clamp(y * 2, 0.0, 1.0) / 2", "torch.nn.functional.hardtanh(y)",
              "torch.relu(y).mean((2, 3))", "torch.nn.functional.max_pool2d(torch.relu(y), 2)")
    SOURCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(16, 32, 3)
        self.shift = torch.nn.Parameter(torch.full((32, 1, 1), -0.3))
    def forward(self, x):
        y = self.layer(x) + self.shift
        return {body}
def get_inputs():
    return [torch.rand(4, 16, 20, 20)]
"""

    def judged(self, oracle, body: str, case: int, product) -> dict:
        held = oracle.oracle.cases.get(case)
        oracle.task.use_weights(held.weights)
        model = oracle.task.model

        def answer(inputs):
            y = product(inputs[0], model.layer.weight, model.layer.bias) + model.shift
            return eval(body, {"torch": torch, "y": y})

        with torch.no_grad():
            return oracle.judge(case, answer, lowest="tf32")

    def test_an_honest_product_in_tf32_passes(self):
        for body in self.BODIES:
            oracle = Oracle(self.SOURCE.format(body=body))
            for seed in range(4):
                for probe in ("task-inputs", "mixed-signs", "offset-mean", "scale-range"):
                    case = oracle.prepare(probe, seed=seed, weights=seed)["case"]
                    for truncate in (False, True):
                        reply = self.judged(oracle, body, case, lambda x, w, b: torch.nn.functional.conv2d(
                            tf32(x, truncate), tf32(w, truncate), b))
                        self.assertTrue(passed(reply), (body, seed, probe, truncate, reply["outputs"]))
                    oracle.ask("release", case=case)
            oracle.close()

    def test_a_lost_product_is_still_seen(self):
        """One input channel of sixteen left out, or bf16 where TF32 is the lowest class. Over a mean of
        hundreds bf16 rounded to nearest is as good as TF32 that is cut, whose errors do not average out."""
        for body in self.BODIES:
            oracle = Oracle(self.SOURCE.format(body=body))
            case = oracle.prepare("mixed-signs", seed=1, weights=1)["case"]

            def lacking(x, w, b):
                return torch.nn.functional.conv2d(x[:, 1:], w[:, 1:], b)

            def coarse(x, w, b):
                return torch.nn.functional.conv2d(x.bfloat16().float(), w.bfloat16().float(), b)

            for product in (lacking,) if "mean" in body else (lacking, coarse):
                self.assertFalse(passed(self.judged(oracle, body, case, product)), body)
            oracle.close()

    def test_what_pytorch_itself_makes_of_a_class_is_half_of_its_bound_at_most(self):
        """Here a device stands in whose products in TF32 are worse than thought."""
        oracle = Oracle(self.SOURCE.format(body="torch.relu(y)"))
        self.addCleanup(oracle.close)
        run, policy = oracle.task.run, ["fp32"]

        def worse(*given):
            tree, outputs = run(*given)
            return tree, [(p, t * 1.01 if policy[-1] == "tf32" else t) for p, t in outputs]

        with mock.patch.object(cases.Cases, "_has_tf32", return_value=True), \
                mock.patch.object(cases.numerics, "apply", side_effect=policy.append), \
                mock.patch.object(oracle.task, "run", side_effect=worse):
            prepared = oracle.prepare()
        case = oracle.oracle.cases.get(prepared["case"])
        self.assertEqual(policy, ["fp32", "tf32", "fp32"])
        self.assertIn("in TF32", prepared["note"])
        self.assertEqual(case.factors[0][0], 1)
        self.assertGreater(case.factors[0][1], 2)
        near, far = ({lowest: passed(oracle.judge(prepared["case"], lambda x: oracle.task.model(*x) * by, lowest=lowest))
                      for lowest in ("tf32", "fp32")} for by in (1.015, 1.03))
        self.assertEqual(near, {"tf32": True, "fp32": False}, "as bad as PyTorch, or a little worse")
        self.assertEqual(far, {"tf32": False, "fp32": False})

    def test_a_bound_of_which_pytorch_takes_more_than_half_is_widened(self):
        oracle = Oracle(self.SOURCE.format(body="torch.relu(y)"))
        self.addCleanup(oracle.close)
        with mock.patch.object(cases, "use_of_bound", return_value=0.75):
            prepared = oracle.prepare("mixed-signs")
        self.assertEqual(oracle.oracle.cases.get(prepared["case"]).factors, [(1.5, 1.0)])
        self.assertIsNone(prepared["note"])
        with mock.patch.object(cases, "use_of_bound", return_value=1.25):
            self.assertIn("beyond the bound", oracle.prepare("mixed-signs")["dropped"])


if __name__ == "__main__":
    unittest.main()
