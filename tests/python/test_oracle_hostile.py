"""What a hostile runner may say of its outputs and of its state: all of it is a wrong answer, and none of it a
fault of the oracle, which would be nobody's verdict."""

import math
import os
import random
import unittest
from unittest import mock

from oracle_harness import Oracle, passed, torch
from fiel_worker.channel import sendable
from fiel_worker.oracle import bound
from fiel_worker.window import Window

TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(5)
    def forward(self, x):
        return {"y": self.norm(x), "scale": 2.5, "pair": (x.sum(), x.argmax())}
def get_inputs():
    return [torch.randn(8, 5)]
def get_init_inputs():
    return []
"""
# Where a number, a text, a list or an object is expected; all that JSON can say.
STRANGE = (None, True, 0, -1, 3, 1 << 62, 10**400, 1.5, math.inf, "", "float32", "\udcff", 300_000 * "x", [], [0],
           [1 << 62, 1], [-1, -1], ["float32"], 20 * [1], {}, {"leaf": 0}, {"leaf": 1 << 62}, {"value": "x"},
           {"dict": [["y", {"leaf": 0}]]}, {"tuple": 5000 * [{"leaf": 0}]}, {"strange": 300_000 * "x"},
           {300_000 * "k": 0}, {"leaf": 0, "value": 1})


def places(value, path=()):
    """Every place in a value, itself first."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def changed(value, path, to):
    """A copy with something else at one place."""
    if not path:
        return to
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], to)
    return copy


class Claims(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.oracle = Oracle(TASK)
        cls.addClassCleanup(cls.oracle.close)
        cls.case = cls.oracle.prepare()["case"]
        cls.said = {}
        reply = cls.oracle.judge(cls.case, after=lambda oracle, placed, value: cls.said.update(value))
        assert passed(reply), reply

    def verify(self, outputs, state=None) -> dict:
        reply = self.oracle.ask("verify", case=self.case, outputs=outputs, lowest="fp32", state=state)
        self.assertLess(len(str(sendable(reply))), 50_000)
        return reply

    def test_what_cannot_be_outputs_is_a_wrong_answer(self):
        for path in places(self.said):
            for claim in STRANGE:
                with self.subTest(path=path, claim=repr(claim)[:60]):
                    outputs = changed(self.said, path, claim)
                    reply = self.verify(outputs)
                    # The same tensor at another place, or by another name, may be right.
                    harmless = path and path[-1] in ("offset", "path", "stride") or outputs == self.said
                    if not harmless and path[-1:] != (0,) and path[-1:] != (1,):
                        self.assertFalse(passed(reply), reply["structure"])

    def test_what_cannot_be_state_is_missing(self):
        leaf = {"path": "norm.running_mean", "dtype": "float32", "shape": [5], "stride": [1], "offset": 4096}
        said = {"tree": {"dict": [["norm.running_mean", {"leaf": 0}]]}, "leaves": [leaf]}
        for path in places(said):
            for claim in STRANGE:
                state = changed(said, path, claim)
                with self.subTest(path=path, claim=repr(claim)[:60]):
                    if state is not None:
                        self.assertFalse(passed(self.verify(self.said, state)))

    def test_many_changes_at_once(self):
        dice = random.Random(11)
        for _ in range(500):
            outputs = self.said
            for _ in range(dice.randint(1, 4)):
                outputs = changed(outputs, dice.choice(list(places(outputs))), dice.choice(STRANGE))
            self.verify(outputs)

    def test_the_right_answer_passes_still(self):
        self.assertTrue(passed(self.verify(self.said)))

    def test_what_becomes_nan_between_two_looks_is_wrong(self):
        """A process that goes on writing can change an element after all were seen to be finite."""
        y = torch.randn(64, dtype=torch.float64)
        model = self.oracle.oracle.cases.expectation(self.oracle.oracle.cases.get(self.case)).outputs[0].model
        plain = bound.ErrorModel(**{**vars(model), "sensitivity": None, "storage": None})
        with mock.patch.object(bound, "all_finite", lambda actual: True):
            report = bound.compare(y, torch.full((64,), math.nan), plain)
        self.assertEqual(report["failing"], 64)


class Windows(unittest.TestCase):
    def test_nobody_makes_one_shorter_or_longer(self):
        window = Window.create("cpu", 8192)
        self.addCleanup(window.close)
        for size in (0, 4096, 1 << 30):
            with self.assertRaises(PermissionError):
                os.ftruncate(window.descriptor, size)


class Text(unittest.TestCase):
    def test_half_a_surrogate_pair_can_be_told(self):
        said = sendable({"error": b"\xff".decode("utf-8", "surrogateescape"), "\udc80": ["\ud800"]})
        self.assertEqual(said, {"error": "?", "?": ["?"]})


if __name__ == "__main__":
    unittest.main()
