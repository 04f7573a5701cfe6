#!/usr/bin/env python3
"""Other protocols and replay on a PyTorch task, on the CPU, through the binary.

usage: torch_protocols.py FIEL SOURCE_DIR
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

FIEL, SOURCE = sys.argv[1:3]
TASK = "tasks/torch/linear_gelu.py"


class TorchProtocols(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def fiel(self, *words):
        environment = {**os.environ, "NO_COLOR": "1", "FIEL_STORE": self.folder.name}
        return subprocess.run([FIEL, *words], capture_output=True, text=True, cwd=SOURCE,
                              env=environment, stdin=subprocess.DEVNULL, timeout=600)

    def judge(self, kernel, protocol):
        p = self.fiel("judge", TASK, kernel, "--device", "cpu", "--protocol", protocol, "--json", "--no-store")
        self.assertTrue(p.stdout, p.stderr)
        return json.loads(p.stdout)

    def kernel(self, body):
        path = os.path.join(self.folder.name, "kernel.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(body)
        return path

    def test_a_memoised_answer_fools_naive_alone(self):
        p = self.fiel("compare", TASK, "examples/torch/linear_gelu/memoised_by_shape.py",
                      "--device", "cpu", "--budget", "quick", "--json")
        self.assertEqual(p.returncode, 1, p.stderr)
        rows = {row["protocol"]: row for row in json.loads(p.stdout)["protocols"]}
        self.assertEqual([name for name in rows if rows[name]["accepted"]], ["naive"])
        opinion = rows["naive"]["verdict"]["opinion"]
        self.assertEqual([t["passed"] for t in opinion["trials"]], [True] * 10)
        self.assertGreater(opinion["kernel_ns"], 0)
        self.assertEqual(rows["naive"]["by"], "stale-output")

    def test_an_honest_kernel_is_timed_by_kernelbench_with_the_hosts_clock_named(self):
        v = self.judge("examples/torch/linear_gelu/addmm.py", "kernelbench")
        self.assertEqual(v["status"], "correct", v["reason"])
        self.assertIn("host's clock", v["opinion"]["clock"])
        self.assertGreater(v["opinion"]["kernel_ns"], 0)
        self.assertEqual(v["speed"], "not_measured")

    def test_a_process_that_ends_is_a_verdict(self):
        v = self.judge("examples/torch/linear_gelu/exits.py", "kernelbench")
        self.assertEqual((v["status"], v["opinion"]["accepted"]), ("runtime_error", False))

    def test_a_forged_comparison_fools_the_process_that_it_lives_in(self):
        kernel = self.kernel("import torch\ntorch.allclose = lambda *a, **k: True\n"
                             "class ModelNew(torch.nn.Module):\n"
                             "    def __init__(self, *a):\n        super().__init__()\n"
                             "    def forward(self, x):\n        return torch.zeros(64, 512)\n")
        self.assertEqual(self.judge(kernel, "kernelbench")["status"], "correct")
        self.assertNotEqual(self.judge(kernel, "strict")["status"], "correct")

    def test_a_witness_is_replayed(self):
        words = (TASK, "examples/torch/linear_gelu/half_precision.py", "--device", "cpu")
        p = self.fiel("judge", *words, "--budget", "quick", "--run", "low")
        self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
        p = self.fiel("replay", "low", "--json")
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        j = json.loads(p.stdout)
        self.assertTrue(j["alone"] and j["reproduced"], j["again"]["reason"])
        self.assertEqual(j["then"]["flat_index"], j["again"]["witness"]["flat_index"])
        self.assertEqual(j["then"]["expected"], j["again"]["witness"]["expected"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
