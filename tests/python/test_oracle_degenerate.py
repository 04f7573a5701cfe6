"""Void is what no probe and no weights can judge; what only fresh weights can judge is a warning."""

import unittest
from unittest import mock

from oracle_harness import Fault, Oracle, torch

HEAD = """
import torch
from torch import nn
class Model(nn.Module):
"""
MAX_MINUS_MEAN = HEAD + """
    def __init__(self):
        super().__init__()
        self.gemm = nn.Linear(64, 48)
    def forward(self, x):
        x = self.gemm(x).max(dim=1, keepdim=True).values
        return nn.functional.gelu(x - x.mean(dim=1, keepdim=True))
def get_inputs():
    return [torch.rand(32, 64)]
"""
CLAMPED_AWAY = HEAD + """
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.dropout = nn.Dropout(0.2)
    def forward(self, x):
        x = torch.min(self.conv(x), torch.tensor(0.0))
        return self.dropout(x.clamp(min=0.0, max=1.0))
def get_inputs():
    return [torch.rand(4, 3, 12, 12)]
"""
MEAN_OF_NORM = HEAD + """
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3)
        self.norm = nn.GroupNorm(4, 12)
    def forward(self, x):
        return self.norm(self.conv(x)).mean(dim=[1, 2, 3])
def get_inputs():
    return [torch.rand(8, 3, 12, 12)]
"""
TOKEN_ONLY = HEAD + """
    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Linear(12, 16), nn.Parameter(torch.randn(1, 1, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)  # attends over the batch
    def forward(self, x):
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), self.patch(x)), dim=1)
        return self.layer(x)[:, 0]
def get_inputs():
    return [torch.rand(2, 9, 12)]
"""
DIVERGENCE = HEAD + """
    def forward(self, p, q):
        return nn.functional.kl_div(torch.log(p), q, reduction="batchmean")
def get_inputs():
    scale = torch.rand(())
    return [(torch.rand(64, 128) * scale).softmax(-1), torch.rand(64, 128).softmax(-1)]
"""
SMALL_SHARE = HEAD + """
    def forward(self, x):
        return 1000 + x
def get_inputs():
    return [torch.rand(32, 64)]
"""


class Degenerate(unittest.TestCase):
    def opened(self, source):
        oracle = Oracle(source)
        self.addCleanup(oracle.close)
        return oracle.opened

    def test_what_no_probe_can_judge_is_void(self):
        for source, reason in ((MAX_MINUS_MEAN, "zeros"), (CLAMPED_AWAY, "zeros"),
                               (TOKEN_ONLY, "do not depend")):
            opened = self.opened(source)
            self.assertEqual(opened["randomness"], "void")
            self.assertIn(reason, opened["void"])

    def test_what_fresh_weights_can_judge_is_a_warning(self):
        opened = self.opened(MEAN_OF_NORM)
        self.assertIsNone(opened["void"])
        self.assertTrue(any("only fresh weights tell" in w for w in opened["warnings"]))

    def test_outputs_that_move_little_are_judged(self):
        for source in (DIVERGENCE, SMALL_SHARE):
            opened = self.opened(source)
            self.assertIsNone(opened["void"])
            self.assertFalse(any("fresh weights" in w for w in opened["warnings"]))

    def test_short_memory_is_no_property_of_the_task(self):
        oracle = Oracle(DIVERGENCE)
        self.addCleanup(oracle.close)
        inputs = oracle.task.source.draw(1)
        for short in (torch.OutOfMemoryError("CUDA out of memory"),
                      RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
                      torch.AcceleratorError("CUDA error: out of memory")):
            with self.subTest(short), mock.patch.object(oracle.task, "run", side_effect=short):
                with self.assertRaises(Fault) as raised:
                    oracle.task.complaint(inputs)
                self.assertEqual(raised.exception.kind, "memory")


if __name__ == "__main__":
    unittest.main()
