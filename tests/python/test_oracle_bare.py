"""What bare kernels need of the oracle: the order of the state, small shapes, the nesting of values."""

import unittest

from oracle_harness import Oracle, torch

LAYERS = """
import torch
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offset", torch.ones(3))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.gain = torch.nn.Parameter(torch.ones(3))
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(4)
        self.conv = torch.nn.Conv1d(2, 3, 1, bias=False)
        self.norm = torch.nn.BatchNorm1d(3)
        self.scale = Scale()
        self.tied = self.conv.weight
        self.own = torch.nn.Parameter(torch.rand(1))
    def forward(self, x):
        y = self.norm(self.conv(x)) * self.scale.gain[:, None] + self.scale.offset[:, None]
        return y * self.own * self.tied.sum()
def get_inputs():
    return [torch.rand(8, 2, 5)]
"""
LARGE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(256, 96)
    def forward(self, x, scale):
        return torch.relu(self.linear(x)) * scale
def get_inputs():
    return [torch.rand(512, 40, 256), 0.5]
"""
FIXED = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4096, 2)
    def forward(self, x):
        return self.linear(x)
def get_inputs():
    return [torch.rand(4096)]
"""


class State(unittest.TestCase):
    def test_order_is_state_dicts_then_what_it_leaves_out(self):
        oracle = Oracle(LAYERS)
        self.addCleanup(oracle.close)
        case = oracle.prepare()["case"]
        leaves = oracle.ask("weights", case=case, window=oracle.weights)["leaves"]
        names = [leaf["name"] for leaf in leaves]
        wanted, seen = [], set()
        for name, tensor in oracle.task.model.state_dict(keep_vars=True).items():
            if id(tensor) not in seen:
                wanted.append(name)
            seen.add(id(tensor))
        # Of two names of one tensor the one is kept that named_parameters gives.
        self.assertEqual(names[: len(wanted)], [n if n != "tied" else names[wanted.index(n)] for n in wanted])
        self.assertEqual(set(names[len(wanted) :]), {"scale.scratch", "kept"})
        self.assertLess(names.index("norm.running_mean"), names.index("scale.gain"))
        kinds = {leaf["name"]: leaf["kind"] for leaf in leaves}
        self.assertEqual(kinds["norm.running_var"], "buffer")
        self.assertEqual(kinds["scale.gain"], "parameter")

    def test_the_wide_model_has_the_same_order(self):
        from fiel_worker.oracle.model_state import named_state

        oracle = Oracle(LAYERS)
        self.addCleanup(oracle.close)
        wide = oracle.task.model64("given")
        self.assertEqual([n for n, _, _ in named_state(oracle.task.model)],
                         [n for n, _, _ in named_state(wide)])


class Small(unittest.TestCase):
    def open(self, source, limit):
        oracle = Oracle(source)
        self.addCleanup(oracle.close)
        oracle.opened = oracle.ask("open_task", reference=source, path=None, mode="train",
                                   init_seed=3, small_bytes=limit)
        return oracle

    def test_sizes_are_cut_until_inputs_and_outputs_fit(self):
        oracle = self.open(LARGE, 200_000)
        self.assertEqual(oracle.opened["shape_variants"][0]["name"], "small")
        case = oracle.prepare(shape_variant="small")
        leaves = case["inputs"] + case["outputs"]
        total = sum(4 * torch.Size(leaf["shape"]).numel() for leaf in leaves)
        self.assertLessEqual(total, 200_000)
        self.assertEqual(case["inputs"][0]["shape"][2], 256)  # the layer's own size stays
        self.assertGreater(case["inputs"][0]["shape"][0], 1)

    def test_a_task_that_fits_has_none(self):
        names = [v["name"] for v in self.open(LARGE, 1 << 30).opened["shape_variants"]]
        self.assertNotIn("small", names)

    def test_a_task_without_a_size_to_cut_has_none(self):
        names = [v["name"] for v in self.open(FIXED, 1000).opened["shape_variants"]]
        self.assertNotIn("small", names)


class Nesting(unittest.TestCase):
    def test_numbers_are_in_the_trees(self):
        oracle = Oracle(LARGE)
        self.addCleanup(oracle.close)
        tree = {"list": [{"leaf": 0}, {"value": 0.5}]}
        self.assertEqual(oracle.opened["inputs_tree"], tree)
        case = oracle.prepare()
        self.assertEqual(case["inputs_tree"], tree)
        self.assertEqual(case["outputs_tree"], {"leaf": 0})


class Slots(unittest.TestCase):
    def test_packed_outputs_are_contiguous(self):
        source = LARGE.replace("torch.relu(self.linear(x))", "torch.relu(self.linear(x)).transpose(1, 2)")
        oracle = Oracle(source)
        self.addCleanup(oracle.close)
        case = oracle.prepare(shape_variant="batch=1")["case"]
        inputs, outputs = (oracle.ask("window", bytes=1 << 20)["window"] for _ in range(2))
        for packed, stride in ((False, [3840, 1, 96]), (True, [3840, 40, 1])):
            laid = oracle.ask("slots", case=case, count=2, inputs_window=inputs,
                              outputs_window=outputs, packed=packed)
            self.assertEqual(laid["layout"][1]["outputs"]["leaves"][0]["stride"], stride)


if __name__ == "__main__":
    unittest.main()
