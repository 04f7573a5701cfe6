"""Fresh inputs: the same seed the same bytes, another seed other ones, legal either way."""

import time
import unittest
from unittest import mock

from clock_harness import torch
from fiel_worker.oracle.fresh import FreshInputs, can_mix, mix_rows
from fiel_worker.oracle.measure import MeasureOperations
from fiel_worker.runner import kernel_names


def quick(seed):
    g = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(64, 32, generator=g), "index": torch.randint(9, (64,), generator=g)}


def slow(seed):
    time.sleep(0.04)
    return quick(seed)


def fresh_of(draw):
    """Inputs of a draw. A quick one takes 60 µs, whatever keeps the machine busy."""
    if draw is slow:
        return FreshInputs(draw, "cpu", 1)
    with mock.patch.object(FreshInputs, "_time_draw", lambda self, seed: 60_000):
        return FreshInputs(draw, "cpu", 1)


class Fresh(unittest.TestCase):
    def targets(self):
        return [torch.empty(64, 32), torch.empty(64, dtype=torch.int64)]

    def test_a_seed_gives_the_same_bytes_again(self):
        for draw in (quick, slow):
            fresh = fresh_of(draw)
            first, other = self.targets(), self.targets()
            fresh.write(11, first)
            fresh.write(12, other)
            again = fresh.value(11)
            self.assertTrue(torch.equal(first[0], again["x"]))
            self.assertTrue(torch.equal(first[1], again["index"]))
            self.assertFalse(torch.equal(first[0], other[0]))

    def test_slow_draws_are_mixed_and_say_so(self):
        self.assertEqual(fresh_of(quick).how, "drawn")
        fresh = fresh_of(slow)
        self.assertEqual(fresh.how, "rows of four draws mixed")
        rows = {tuple(r.tolist()) for i in range(4) for r in slow(1 + i)["x"]}
        targets = self.targets()
        fresh.write(99, targets)
        self.assertTrue(all(tuple(r.tolist()) in rows for r in targets[0]))

    def test_only_exchangeable_rows_are_mixed(self):
        self.assertTrue(can_mix(torch.randn(64, 64)))
        self.assertFalse(can_mix(torch.randn(64, 64).tril()))
        self.assertFalse(can_mix(torch.randint(5, (64, 64))))
        self.assertFalse(can_mix(torch.randn(8, 640)))
        self.assertFalse(can_mix(torch.randn(64, 1).expand(64, 64)))

    def test_every_row_comes_from_some_draw(self):
        draws = [torch.full((32, 2), float(i)) for i in range(4)]
        target = torch.full((32, 2), -1.0)
        mix_rows(draws, target, torch.Generator().manual_seed(3))
        self.assertTrue(set(target.flatten().tolist()) <= {0.0, 1.0, 2.0, 3.0})

    def test_broadcast_inputs_are_written(self):
        fresh = FreshInputs(lambda seed: [torch.full((4, 1), float(seed)).expand(4, 3)], "cpu", 1)
        target = torch.zeros(4, 1).expand(4, 3)
        fresh.write(7, [target])
        self.assertEqual(set(target.flatten().tolist()), {7.0})


class Measure(unittest.TestCase):
    def test_calibration_completes_on_any_device(self):
        machine = type("Machine", (MeasureOperations,), {"device": "cpu"})()
        found = machine.op_measure({}, None)
        self.assertGreater(found["copy_bytes_per_s"], 1e8)
        self.assertGreater(found["flops"]["fp32"], 1e8)
        self.assertLessEqual(found["gap_low_ns"], found["gap_ns"])
        self.assertGreater(found["gap_ns"], 0)


class KernelNames(unittest.TestCase):
    def test_names_say_whose_a_kernel_is(self):
        for name, origin, tensor_core in (
            ("void at::native::vectorized_elementwise_kernel<4, at::native::relu>", "framework", False),
            ("Memcpy DtoD (Device -> Device)", "framework", False),
            ("triton_poi_fused_relu_0", "framework", False),
            ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4>", "library", True),
            ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_cublas", "library", True),
            ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_simt_cublas", "library", False),
            ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT", "library", True),
            ("ampere_sgemm_128x64_nn", "library", False),
            ("my_matmul(float*, float*)", "own", False),
        ):
            self.assertEqual(kernel_names.origin(name), origin, name)
            self.assertEqual(kernel_names.uses_tensor_cores(name), tensor_core, name)


if __name__ == "__main__":
    unittest.main()
