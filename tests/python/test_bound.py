"""The comparison's two ways through a piece: the quick one, and the one for what is special, wrong or ill."""

import itertools
import math
import unittest
from unittest import mock

from oracle_harness import torch
from fiel_worker.oracle.bound import ErrorModel, _Comparison, compare
from fiel_worker.oracle.slices import Scales, all_finite


def drawn(dtype, shape, sensitivity, stored: bool, noise: float):
    generator = torch.Generator().manual_seed(5)
    normal = lambda: torch.randn(shape, dtype=torch.float64, generator=generator)
    y = normal() * normal().mul(2).exp()
    answer = (y * (1 + noise * 2.0**-24 * normal())).to(dtype)
    s = None if sensitivity is None else (y.abs() * normal().abs() * noise).to(sensitivity)
    d = (y.abs() * 1e-3).float() if stored else None
    return y, answer, ErrorModel(dtype, 2.0**-24, 64.0, False, s, d, contracts=True)


class Ways(unittest.TestCase):
    def same(self, reference, answer, model, lowest):
        quick = compare(reference, answer, model, lowest)
        with mock.patch.object(_Comparison, "_quick_piece", lambda self, index: self._piece(index)[0]):
            full = compare(reference, answer, model, lowest)
        for key, value in full.items():
            if isinstance(value, float) and math.isfinite(value):
                self.assertAlmostEqual(quick[key], value, delta=1e-9 * abs(value), msg=key)
            else:
                self.assertEqual(str(quick[key]), str(value), key)
        return full

    def test_both_say_the_same(self):
        kinds = set()
        for dtype, shape, sensitivity, stored, noise, lowest in itertools.product(
                (torch.float32, torch.bfloat16, torch.float64), ((1000,), (37, 211), ()),
                (None, torch.float32, torch.float64), (False, True), (0.3, 30.0, 1e6), ("fp32", "tf32")):
            y, answer, model = drawn(dtype, shape, sensitivity, stored, noise)
            with self.subTest(dtype=dtype, shape=shape, sensitivity=sensitivity, noise=noise, lowest=lowest):
                report = self.same(y, answer, model, lowest)
                kinds.add((report["failing"] > 0, report["unstable"] > 0))
        self.assertGreaterEqual(len(kinds), 3, "right ones, wrong ones, ill-conditioned ones")

    def test_one_element_of_many_pieces_is_found(self):
        for at, value in ((3, 9e9), (700_000, float("nan")), (999_999, float("inf"))):
            y, answer, model = drawn(torch.float32, (1_000_000,), torch.float32, False, 0.0)
            answer[at] = value
            report = self.same(y, answer, model, "fp32")
            self.assertEqual((report["failing"], report["first_failing"]), (1, at))

    def test_an_element_without_bound_is_not_compared(self):
        y, answer, model = drawn(torch.float32, (1000,), torch.float64, False, 0.3)
        model.sensitivity[17] = torch.inf
        self.assertEqual(self.same(y, answer, model, "fp32")["compared"], 999)

    def test_scales_are_the_same_with_and_without_special_elements(self):
        for dtype, shape in itertools.product((torch.float64, torch.float16), ((5,), (3, 17, 40), (300_001,))):
            y = drawn(torch.float64, shape, None, False, 0.0)[0].clamp(-100, 100).to(dtype)
            quick, full = Scales._of_finite(y), Scales._of_any(y)
            self.assertAlmostEqual(quick.rms, full.rms, delta=1e-12 * full.rms)
            self.assertEqual((quick.largest, quick.all_finite), (full.largest, full.all_finite))
            self.assertEqual(quick.rows is None, full.rows is None)
            self.assertTrue(quick.rows is None or torch.allclose(quick.rows, full.rows, rtol=1e-12))
            self.assertTrue(all_finite(y))
            for special in (float("nan"), float("inf"), float("-inf")):
                y.view(-1)[-1] = special
                self.assertIsNone(Scales._of_finite(y))
                self.assertFalse(Scales.of(y).all_finite)
                self.assertFalse(all_finite(y))


if __name__ == "__main__":
    unittest.main()
