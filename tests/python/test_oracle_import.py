"""Task import: what a task leaves undefined, what voids it, randomness, domains, shapes."""

import unittest

from oracle_harness import Oracle, passed, torch

EMPTY_INPUT = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.empty(64))
    def forward(self, x):
        return x * self.scale
def get_inputs():
    return [torch.empty(16, 64)]
"""
TO_ZERO = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return (x - x.mean(dim=1, keepdim=True)).mean(dim=1)
def get_inputs():
    return [torch.rand(64, 256)]
"""
ZERO_WEIGHT = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(32, 16)
        torch.nn.init.zeros_(self.linear.weight)
    def forward(self, x):
        return self.linear(x)
def get_inputs():
    return [torch.rand(8, 32)]
"""
NEARLY_RELU = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1e-9 * x
def get_inputs():
    return [torch.rand(8, 32)]
"""
BLIND = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.ones(4) * x.shape[0]
def get_inputs():
    return [torch.rand(8, 32)]
"""
HARD_TYPES = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        y = x.float() * torch.arange(x.shape[1], dtype=torch.float32)
        return (y / torch.full((1,), 3.0, dtype=torch.float32)).to(torch.float32)
def get_inputs():
    return [torch.rand(8, 32)]
"""
IN_PLACE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)
    def forward(self, x):
        y = self.linear(x)
        y.add_(x).mul_(0.5)
        y[:, 0] = 1
        return torch.relu_(y)
def get_inputs():
    return [torch.rand(8, 32)]
"""


def probe_all(test, oracle, probes=("task-inputs", "mixed-signs"), weights=("given", 5)):
    numbers = []
    for probe in probes:
        for w in weights:
            case = oracle.prepare(probe, weights=w)
            test.assertIsNone(case["dropped"])
            test.assertTrue(passed(oracle.judge(case["case"])))
            numbers.append(case["case"])
    return numbers


class Import(unittest.TestCase):
    def open(self, source, **more):
        oracle = Oracle(source, **more)
        self.addCleanup(oracle.close)
        return oracle

    def test_memory_that_was_never_set_is_replaced_with_a_warning(self):
        """J-23: the same values each time, finite, and said so."""
        a, b = self.open(EMPTY_INPUT), self.open(EMPTY_INPUT)
        text = " ".join(a.opened["warnings"])
        self.assertIn("scale", text)
        self.assertIn("input '0'", text)
        x, y = (o.oracle.cases.inputs(o.oracle.cases.get(o.prepare()["case"]))[0] for o in (a, b))
        self.assertTrue(torch.equal(x, y))
        self.assertTrue(bool(torch.isfinite(x).all()))
        self.assertTrue(torch.equal(a.task.model.scale, b.task.model.scale))
        probe_all(self, a)

    def rejected(self, oracle):
        rows = oracle.ask("impostors", cases=probe_all(self, oracle))["impostors"]
        return {row["impostor"]: row["rejected"] for row in rows}

    def test_a_task_that_zeros_solve_is_void(self):
        """J-07 A."""
        self.assertFalse(self.rejected(self.open(TO_ZERO))["zeros"])

    def test_zero_weights_are_drawn_anew(self):
        """J-07 B: with weights of its own the task is sound."""
        oracle = self.open(ZERO_WEIGHT)
        self.assertTrue(all(self.rejected(oracle).values()))
        case = oracle.prepare("mixed-signs", weights=9)["case"]
        bias = oracle.task.model.linear.bias
        oracle.task.use_weights(9)
        reply = oracle.judge(case, lambda inputs: bias.expand(8, 16))
        self.assertFalse(passed(reply))

    def test_a_task_that_is_nearly_a_simpler_one_is_sound(self):
        """J-07 C."""
        oracle = self.open(NEARLY_RELU)
        self.assertTrue(all(self.rejected(oracle).values()))
        self.assertIsNone(oracle.opened["void"])

    def test_outputs_that_ignore_the_inputs_void_the_task(self):
        opened = self.open(BLIND).opened
        self.assertEqual(opened["randomness"], "void")
        self.assertIn("do not depend", opened["void"])

    def test_types_written_into_forward_do_not_stop_float64(self):
        oracle = self.open(HARD_TYPES)
        [case] = probe_all(self, oracle, ("mixed-signs",), ("given",))
        self.assertEqual(oracle.oracle.cases.expectation(
            oracle.oracle.cases.get(case)).outputs[0].reference.dtype, torch.float64)

    def test_operations_in_place(self):
        probe_all(self, self.open(IN_PLACE))

    def test_no_parameter_is_left_at_zeros_or_ones(self):
        source = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8),
                                          torch.nn.GroupNorm(2, 8))
        self.register_buffer("mask", torch.tril(torch.ones(6, 6)))
    def forward(self, x):
        return self.layers(x) * self.mask
def get_inputs():
    return [torch.rand(2, 3, 8, 8)]
"""
        for mode in ("train", "eval"):
            oracle = self.open(source, mode=mode)
            probe_all(self, oracle)
            oracle.task.use_weights(5)
            model = oracle.task.model
            for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
                if name == "mask":
                    self.assertTrue(torch.equal(tensor, torch.tril(torch.ones(6, 6))))
                elif tensor.is_floating_point():
                    self.assertFalse(bool(((tensor == 0) | (tensor == 1)).any()), name)
            self.assertTrue(bool((model.layers[1].running_var > 0).all()))

    def test_shape_variants_are_tried(self):
        oracle = self.open(ZERO_WEIGHT)
        names = [v["name"] for v in oracle.opened["shape_variants"]]
        self.assertIn("batch=1", names)
        self.assertNotIn("dimension 1=17", names)  # the weight says 32
        case = oracle.prepare("mixed-signs", shape_variant="batch=1")
        self.assertEqual(case["outputs"][0]["shape"], [1, 16])
        self.assertTrue(passed(oracle.judge(case["case"])))

    def test_indices_stay_within_what_a_shape_leaves_of_their_bound(self):
        """On a GPU an index out of bounds ends the process."""
        source = """
import torch
class Model(torch.nn.Module):
    def forward(self, scores, classes):
        return torch.nn.functional.cross_entropy(scores, classes)
def get_inputs():
    return [torch.rand(64, 19), torch.randint(0, 19, (64,))]
"""
        oracle = self.open(source)
        names = [v["name"] for v in oracle.opened["shape_variants"]]
        self.assertIn("dimension 1=9", names)
        for name in names:
            for probe in ("task-inputs", "mixed-signs", "ties", "constant", "one-hot", "one-element"):
                base = oracle.prepare(shape_variant=name)["case"] if probe == "one-element" else None
                case = oracle.prepare(probe, shape_variant=name, base=base)
                with self.subTest(name=name, probe=probe):
                    self.assertIsNone(case["dropped"])
                    self.assertTrue(passed(oracle.judge(case["case"])))

    def test_one_element_changes_and_the_answer_with_it(self):
        oracle = self.open(ZERO_WEIGHT)
        base = oracle.prepare("mixed-signs", weights=5)["case"]
        case = oracle.prepare("one-element", seed=8, weights=5, base=base)["case"]
        a, b = (oracle.oracle.cases.inputs(oracle.oracle.cases.get(n))[0] for n in (base, case))
        self.assertEqual(int((a != b).sum()), 1)
        old = oracle.honest(base)([a])
        self.assertFalse(passed(oracle.judge(case, lambda _: old)))
        self.assertTrue(passed(oracle.judge(case)))

    def test_other_types_and_ways_to_pass_inputs(self):
        forward = {
            "complex outputs": ("x", "torch.fft.rfft(x)", "[torch.rand(8, 100)]"),
            "doubles": ("x", "torch.cumsum(x, -1)", "[torch.rand(8, 100, dtype=torch.float64)]"),
            "half": ("x, y", "torch.nn.functional.layer_norm(x @ y, (64,))",
                     "[torch.rand(8, 100).half(), torch.rand(100, 64).half()]"),
            "inputs by name": ("x, y", "x * y['a'][0]",
                               "{'x': torch.rand(8, 100), 'y': {'a': [torch.rand(100)]}}"),
            "numbers": ("x, n, f", "(x.mean() * n, n, f)", "[torch.rand(8, 100), 3, 2.5]"),
            "strides": ("x", "x.transpose(0, 1)", "[torch.rand(100, 8).T]"),
        }
        for name, (arguments, result, inputs) in forward.items():
            source = f"""
import torch
class Model(torch.nn.Module):
    def forward(self, {arguments}):
        return {result}
def get_inputs():
    return {inputs}
"""
            with self.subTest(name):
                oracle = self.open(source)
                numbers = probe_all(self, oracle, ("task-inputs", "mixed-signs", "scale-range"), ("given",))
                rows = oracle.ask("impostors", cases=numbers)["impostors"]
                self.assertTrue(all(row["rejected"] for row in rows), rows)

    def test_where_float64_is_impossible_the_verdict_says_so(self):
        oracle = self.open("""
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127) + _only_float(x)
def _only_float(x):
    if x.dtype != torch.float32:
        raise RuntimeError("only_float not implemented for Double")
    return x
def get_inputs():
    return [torch.rand(8, 32)]
""")
        case = oracle.prepare("mixed-signs")
        self.assertIn("not implemented for", case["note"])
        self.assertTrue(passed(oracle.judge(case["case"])))
        self.assertFalse(passed(oracle.judge(case["case"], lambda i: i[0] * 2.01)))

    def test_a_reference_that_writes_its_inputs_blames_nobody(self):
        oracle = self.open("""
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x.add_(1) * x
def get_inputs():
    return [torch.rand(8, 32)]
""")
        self.assertIn("writes into its inputs", " ".join(oracle.opened["warnings"]))
        case = oracle.prepare("mixed-signs")["case"]
        self.assertTrue(passed(oracle.judge(case, lambda i: i[0].add_(1) * i[0])))


class Randomness(unittest.TestCase):
    SOURCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.3, self.training)
def get_inputs():
    return [torch.rand(64, 256)]
"""

    def test_live_dropout_is_judged_by_its_statistics(self):
        oracle = Oracle(self.SOURCE)
        self.addCleanup(oracle.close)
        self.assertEqual(oracle.opened["randomness"], "statistical")
        case = oracle.prepare("mixed-signs")["case"]
        drop = torch.nn.functional.dropout
        for seed in range(20):
            torch.manual_seed(seed)
            self.assertTrue(passed(oracle.judge(case, lambda i: drop(i[0], 0.3))))
        wrong = {
            "no dropout": lambda i: i[0].clone(),
            "another share": lambda i: drop(i[0], 0.35),
            "no rescaling": lambda i: drop(i[0], 0.3) * 0.7,
            "zeros": lambda i: torch.zeros_like(i[0]),
            "shuffled": lambda i: drop(i[0], 0.3)[torch.randperm(64)],
        }
        for name, answer in wrong.items():
            with self.subTest(name):
                self.assertFalse(passed(oracle.judge(case, answer)))

    def test_eval_mode_is_a_function(self):
        oracle = Oracle(self.SOURCE, mode="eval")
        self.addCleanup(oracle.close)
        self.assertEqual(oracle.opened["randomness"], "none")


if __name__ == "__main__":
    unittest.main()
