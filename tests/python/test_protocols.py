"""Other protocols re-created: each rule on a candidate that it lets through, or does not."""

import unittest

from runner_harness import Refused, Runner, torch
from fiel_worker.protocols import checking, comparing, rules
from fiel_worker.protocols.functional_block import functional_blocked

TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)
    def forward(self, x):
        return torch.relu(self.linear(x))
rows = 16
def get_inputs():
    return [torch.rand(rows, 32)]
def get_init_inputs():
    return [32]
"""

HEAD = """
import torch
class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)
        self.kept, self.calls = {}, 0
    def forward(self, x):
        right = torch.relu(torch.addmm(self.linear.bias, x, self.linear.weight.t()))
"""

BASE = {
    "name": "kernelbench", "trials": 5, "seeding": "derived", "seed": 42, "hidden_scales": [],
    "fp32": {"atol": 1e-4, "rtol": 1e-4}, "half": {"atol": 1e-2, "rtol": 1e-2},
    "relative_to": "candidate", "reference_first": True, "clones_inputs": False,
    "casts_inputs": True, "shares_namespace": True, "any_structure": False, "checks_dtype": False,
    "blocks_functional": False, "stops_at_first": False, "weights": "same-seed", "mode": "train",
    "clock": "events", "warmups": 3, "discarded": 1, "repeats": 5, "flushes_l2": True,
    "compiled_baseline": False, "tf32_baseline": False, "peak_memory": False,
}
NAIVE = BASE | {
    "name": "naive", "trials": 10, "seeding": "repeated", "seed": 0,
    "fp32": {"atol": 1e-2, "rtol": 0}, "relative_to": "reference", "reference_first": False,
    "casts_inputs": False, "shares_namespace": False, "any_structure": True,
    "weights": "loose-load", "clock": "host-unsynchronised", "warmups": 1, "discarded": 0,
}
CUDA_AGENT = BASE | {
    "name": "cuda-agent", "seeding": "unseeded", "fp32": {"atol": 1e-2, "rtol": 1e-2},
    "relative_to": "reference", "clones_inputs": True, "casts_inputs": False,
    "shares_namespace": False, "any_structure": True, "checks_dtype": True,
    "blocks_functional": True, "stops_at_first": True, "weights": "strict-load", "mode": "eval",
    "clock": "profiler",
}
VERIFIED = BASE | {
    "name": "kernelbench-verified", "hidden_scales": [1, 3, 0.01, -1],
    "fp32": {"atol": 1e-3, "rtol": 1e-3}, "tf32_baseline": True, "peak_memory": True,
}
ALL = {table["name"]: table for table in (NAIVE, BASE, CUDA_AGENT, VERIFIED)}


class Protocols(unittest.TestCase):
    """One process for all: none of these candidates leaves anything behind."""

    @classmethod
    def setUpClass(cls):
        cls.runner, cls.files = Runner(), 0

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def ask(self, body: str, table: dict, head: str = HEAD, task: str = TASK) -> dict:
        lines = "".join(f"        {line}\n" for line in body.split("\n"))
        Protocols.files += 1
        task_path = self.runner.file(f"task{self.files}.py", task)
        path = self.runner.file(f"kernel{self.files}.py", head + lines)
        return self.runner.ask("protocol", task_path=task_path, path=path, rules=table)

    def accepted_by(self, body: str, **options) -> set:
        return {name for name, table in ALL.items() if self.ask(body, table, **options)["accepted"]}

    def test_an_honest_kernel_is_accepted_and_timed_by_all(self):
        for name, table in ALL.items():
            reply = self.ask("return right", table)
            self.assertTrue(reply["accepted"], (name, reply))
            self.assertGreater(reply["kernel_ns"], 0)
            self.assertGreater(reply["reference_ns"], 0)
            trials = table["trials"] + len(table["hidden_scales"])
            self.assertEqual(len(reply["trials"]), trials)

    def test_a_first_answer_kept_for_ever_survives_every_repetition_of_naive_alone(self):
        body = "return self.kept.setdefault('first', right)"
        reply = self.ask(body, NAIVE)
        self.assertEqual([t["passed"] for t in reply["trials"]], [True] * 10)
        self.assertEqual(self.accepted_by(body), {"naive"})

    def test_an_answer_kept_by_address_fools_who_reuses_tensors(self):
        self.assertIn("naive", self.accepted_by("return self.kept.setdefault(x.data_ptr(), right)"))

    def test_half_precision_passes_at_a_hundredth(self):
        body = ("low = x.half() @ self.linear.weight.half().t() + self.linear.bias.half()\n"
                "return torch.relu(low).float()")
        self.assertIn("naive", self.accepted_by(body))
        self.assertNotIn("kernelbench", self.accepted_by(body))

    def test_relu_as_identity_passes_where_nothing_is_negative(self):
        task = TASK.replace("torch.relu(self.linear(x))", "torch.relu(x)")
        self.assertEqual(self.accepted_by("return x.clone()", task=task),
                         {"naive", "kernelbench", "cuda-agent"})

    def test_zeroed_inputs_fool_who_asks_the_reference_afterwards(self):
        task = TASK.replace("torch.relu(self.linear(x))", "torch.relu(x)")
        self.assertEqual(self.accepted_by("x.zero_()\nreturn torch.zeros_like(x)", task=task), {"naive"})

    def test_the_public_seed_gives_the_weights_away(self):
        """A constructor that draws in another order is honest, and fails where weights are replayed."""
        head = HEAD.replace("        self.linear", "        torch.rand(1)\n        self.linear", 1)
        self.assertEqual(self.accepted_by("return right", head=head), {"naive", "cuda-agent"})

    def test_a_missing_parameter_is_refused_only_by_a_strict_load(self):
        head = HEAD.replace("torch.nn.Linear(features, features)",
                            "torch.nn.Linear(features, features, bias=False)", 1)
        head = head[:head.index("        right")]
        task = TASK.replace("torch.nn.Linear(features, features)",
                            "torch.nn.Linear(features, features); self.linear.bias.data.zero_()")
        self.assertIn("naive", self.accepted_by_or_refused("return torch.relu(self.linear(x))",
                                                           head=head, task=task))
        with self.assertRaises(Refused):
            self.ask("return torch.relu(self.linear(x))", CUDA_AGENT, head=head, task=task)

    def accepted_by_or_refused(self, body: str, **options) -> set:
        found = set()
        for name, table in ALL.items():
            try:
                if self.ask(body, table, **options)["accepted"]:
                    found.add(name)
            except Refused:
                pass
        return found

    def test_names_of_the_candidate_are_the_tasks_names_in_kernelbench(self):
        head = HEAD.replace("import torch\n", "import torch\nrows = 1\n", 1)
        body = "if x.shape[0] != 1: return x * 0\nreturn right"
        self.assertEqual(self.accepted_by(body, head=head), {"kernelbench", "kernelbench-verified"})

    def test_functional_is_blocked_by_cuda_agent_only_as_an_attribute(self):
        for blocked in ("return torch.nn.functional.relu(right)", "return torch.relu(self.linear(x))"):
            self.assertNotIn("cuda-agent", self.accepted_by(blocked))
        head = "from torch.nn.functional import linear as kept\n" + HEAD
        body = "return torch.relu(kept(x, self.linear.weight, self.linear.bias))"
        self.assertIn("cuda-agent", self.accepted_by(body, head=head))

    def test_another_dtype_is_refused_by_cuda_agent(self):
        accepted = self.accepted_by("return right.double()")
        self.assertNotIn("cuda-agent", accepted)
        self.assertIn("naive", accepted)

    def test_an_exception_is_a_trial_that_failed(self):
        reply = self.ask("raise ValueError('no')", BASE)
        self.assertFalse(reply["accepted"])
        self.assertEqual(len(reply["trials"]), 1)
        self.assertTrue(reply["trials"][0]["why"].startswith("runtime error"), reply)

    def test_a_file_without_a_class_is_the_candidates_fault(self):
        with self.assertRaises(Refused) as caught:
            self.ask("", BASE, head="x = 1\nif True:\n        pass\n")
        self.assertEqual(caught.exception.fault, "candidate")


class Rules(unittest.TestCase):
    def read(self, table: dict) -> rules.Rules:
        return rules.read(table)

    def test_seeds_of_trials(self):
        self.assertEqual(checking.trial_seeds(self.read(NAIVE)), [0] * 10)
        self.assertEqual(checking.trial_seeds(self.read(CUDA_AGENT)), [None] * 5)
        derived = checking.trial_seeds(self.read(BASE))
        self.assertEqual(len(set(derived)), 5)
        self.assertEqual(derived, checking.trial_seeds(self.read(BASE)))

    def test_kernelbench_measures_against_the_candidate(self):
        table = self.read(BASE | {"fp32": {"atol": 0, "rtol": 0.5}})
        one, two = torch.ones(3), torch.full((3,), 2.0)
        self.assertIsNone(comparing.complaint(table, torch.float32, one, two))
        self.assertIsNotNone(comparing.complaint(table, torch.float32, two, one))

    def test_nan_is_equal_to_nothing(self):
        nan = torch.full((2,), float("nan"))
        for table in ALL.values():
            self.assertIsNotNone(comparing.complaint(self.read(table), torch.float32, nan, nan))

    def test_the_block_is_lifted_again(self):
        before = torch.nn.functional.relu
        with functional_blocked(True):
            self.assertRaises(RuntimeError, torch.nn.functional.relu, torch.ones(1))
        self.assertIs(torch.nn.functional.relu, before)

    def test_scales_leave_integers_alone(self):
        scaled = checking.scaled([torch.ones(2), torch.ones(2, dtype=torch.int64), 3], -1)
        self.assertEqual(scaled[0].tolist(), [-1, -1])
        self.assertEqual((scaled[1].tolist(), scaled[2]), ([1, 1], 3))


if __name__ == "__main__":
    unittest.main()
