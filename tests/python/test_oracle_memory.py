"""Tasks that are larger than memory: evaluated and compared in slices, with 64-bit positions."""

import math
import unittest

from oracle_harness import Oracle, passed, torch
from fiel_worker.oracle import cases
from fiel_worker.oracle.batch import batch_of
from fiel_worker.oracle.slices import first_difference, row_major_pieces, row_rms, unravel

ROWS = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(33, 65)
    def forward(self, x, shared):
        return torch.softmax(self.linear(x), -1) * shared
def get_inputs():
    return [torch.rand(67, 33), torch.rand(1, 65)]
"""
MEAN = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x - x.mean()
def get_inputs():
    return [torch.rand(67, 33)]
"""
SPREAD = MEAN.replace("x - x.mean()", "x / x.std()")  # on large inputs a part's hardly differs
SQUARE = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
def get_inputs():
    return [torch.rand(64, 64), torch.rand(64, 64)]
"""


class Pieces(unittest.TestCase):
    def test_pieces_cover_every_element_once_and_in_order(self):
        for shape in ((), (5,), (0, 3), (7, 11), (3, 1, 13, 2), (2, 3, 4, 5), (1, 100)):
            for limit in (1, 4, 10, 1000):
                with self.subTest(shape=shape, limit=limit):
                    positions = torch.arange(math.prod(shape)).reshape(shape)
                    seen = []
                    for index, begin in row_major_pieces(shape, limit):
                        piece = positions[index].reshape(-1)
                        self.assertEqual(int(piece[0]), begin)
                        self.assertLessEqual(piece.numel(), max(1, limit))
                        seen.append(piece)
                    whole = torch.cat(seen) if seen else torch.arange(0)
                    self.assertTrue(torch.equal(whole, torch.arange(math.prod(shape))))

    def test_more_elements_than_32_bits_count(self):
        """J-21: positions of a tensor of 2^31 elements and more, which takes no memory here."""
        huge = torch.zeros((), dtype=torch.uint8).expand(131073, 16384)
        last = None
        for last in row_major_pieces(huge.shape, 1 << 24):
            pass
        index, begin = last
        self.assertEqual(begin + huge[index].numel(), 131073 * 16384)
        self.assertGreaterEqual(begin, 2**31)
        self.assertEqual(unravel(131073 * 16384 - 1, huge.shape), [131072, 16383])

    def test_row_scales_and_first_difference_across_pieces(self):
        y = torch.arange(40.0, dtype=torch.float64).reshape(2, 20)
        rows, whole = row_rms(y)
        self.assertTrue(torch.allclose(rows, y.square().mean(-1).sqrt()))
        self.assertAlmostEqual(whole, float(y.square().mean().sqrt()))
        other = y.clone()
        other[1, 3] = math.nan
        self.assertEqual(first_difference(y, other), 23)
        self.assertEqual(first_difference(other, other.clone()), -1)


class Slices(unittest.TestCase):
    def setUp(self):
        self._before = cases._WORKING_BYTES_CPU

    def tearDown(self):
        cases._WORKING_BYTES_CPU = self._before

    def expectation(self, source, free_bytes):
        cases._WORKING_BYTES_CPU = free_bytes
        oracle = Oracle(source)
        self.addCleanup(oracle.close)
        number = oracle.prepare("mixed-signs")["case"]
        self.assertTrue(passed(oracle.judge(number)))
        return oracle.oracle.cases.expectation(oracle.oracle.cases.get(number)).outputs[0]

    def test_a_part_of_the_batch_at_a_time_gives_the_same(self):
        whole, parts = self.expectation(ROWS, 1 << 30), self.expectation(ROWS, 100_000)
        self.assertTrue(torch.allclose(whole.reference, parts.reference, rtol=1e-12, atol=0))
        ratio = parts.model.sensitivity.mean() / whole.model.sensitivity.mean()
        self.assertAlmostEqual(float(ratio), 1, delta=0.2)

    def test_batches_that_meet_are_evaluated_whole(self):
        for source in (MEAN, SPREAD):
            whole, parts = self.expectation(source, 1 << 30), self.expectation(source, 10_000)
            self.assertTrue(torch.equal(whole.reference, parts.reference))

    def test_what_is_a_batch_is_found(self):
        for source, wanted in ((ROWS, ([(0, 0)], 67)), (SQUARE, ([(0, 0)], 64)), (SPREAD, ([], 0))):
            oracle = Oracle(source)
            self.addCleanup(oracle.close)
            self.assertEqual(batch_of(oracle.task, oracle.task.source.draw(1), "given"), wanted)


if __name__ == "__main__":
    unittest.main()
