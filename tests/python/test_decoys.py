"""Decoys: at no moment before the reveal do a slot's true inputs stand in the window."""

import unittest

from clock_harness import torch
from fiel_worker.oracle.decoys import Decoys
from fiel_worker.oracle.slots import SlotSet
from fiel_worker.window import Window

LEAVES = [
    {"path": "x", "dtype": "float32", "shape": [48, 64], "stride": [128, 1]},
    {"path": "index", "dtype": "int64", "shape": [500], "stride": [1]},
    {"path": "mask", "dtype": "bool", "shape": [0, 3], "stride": [3, 1]},
    {"path": "scale", "dtype": "float32", "shape": [8, 4], "stride": [0, 1]},
]


def truth(i):
    g = torch.Generator().manual_seed(40 + i)
    return [
        torch.randn(48, 64, generator=g), torch.randint(9, (500,), generator=g),
        torch.zeros(0, 3, dtype=torch.bool), torch.randn(4, generator=g).expand(8, 4),
    ]


class DecoysTest(unittest.TestCase):
    def setUp(self):
        leaf = {"path": "", "dtype": "float32", "shape": [4], "stride": [1]}
        self.slots = SlotSet({"tree": None, "leaves": LEAVES}, {"tree": {"leaf": 0}, "leaves": [leaf]}, 3)
        self.window = Window.create("cpu", self.slots.inputs_bytes)
        self.slots.open(self.window, Window.create("cpu", self.slots.outputs_bytes))
        self.window.flat.fill_(0x5A)
        self.decoys = Decoys(self.slots, "cpu")

    def shown(self, slot):
        return [t.clone() for t in self.slots.slots[slot].inputs]

    def between(self):
        """Bytes of the window that are no input's."""
        free = torch.ones(self.window.bytes, dtype=torch.bool)
        for slot in self.slots.slots:
            for tensor in slot.inputs:
                begin = tensor.data_ptr() - self.window.flat.data_ptr()
                places = torch.arange(tensor.element_size())
                for size, stride in zip(tensor.shape, tensor.stride()):
                    steps = torch.arange(size) * stride * tensor.element_size()
                    places = (places[:, None] + steps).reshape(-1)
                free[begin + places] = False
        return self.window.flat[free]

    def write(self, chosen, looks=lambda i: None):
        def fill(i, tensors):
            looks(i)
            for tensor, value in zip(tensors, truth(i)):
                for dim, stride in enumerate(tensor.stride()):
                    if stride == 0:
                        tensor, value = tensor.narrow(dim, 0, 1), value.narrow(dim, 0, 1)
                tensor.copy_(value)
            looks(i)

        self.decoys.write(chosen, fill, torch.Generator().manual_seed(3))

    def test_the_truth_is_never_seen_before_the_reveal(self):
        chosen = [2, 0]

        def looks(i):
            for k, slot in enumerate(chosen):
                self.assertFalse(torch.equal(self.shown(slot)[0], truth(k)[0]))

        self.write(chosen, looks)
        for k, slot in enumerate(chosen):
            for got, want in list(zip(self.shown(slot), truth(k)))[:2]:
                wrong = (got != want).sum().item()
                self.assertGreater(wrong, 0)
                self.assertLess(wrong, want.numel() / 20)
        self.decoys.reveal()
        for k, slot in enumerate(chosen):
            for got, want in zip(self.shown(slot), truth(k)):
                self.assertTrue(torch.equal(got, want))

    def test_a_decoy_is_a_value_of_its_own_input(self):
        self.write([1])
        x, index = self.shown(1)[:2]
        self.assertTrue(torch.isfinite(x).all())
        self.assertTrue(((index >= 0) & (index < 9)).all())

    def test_what_lies_between_inputs_and_other_slots_stay(self):
        before, other = self.between().clone(), self.shown(1)
        self.write([2, 0])
        self.decoys.reveal()
        self.assertTrue(torch.equal(self.between(), before))
        for got, want in zip(self.shown(1), other):
            self.assertTrue(torch.equal(got.view(torch.uint8), want.view(torch.uint8)))


if __name__ == "__main__":
    unittest.main()
