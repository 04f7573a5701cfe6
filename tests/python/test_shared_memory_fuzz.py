"""Noise in the memory that the oracle shares with a hostile runner, from seeds: the control page of its clock, its
windows while the oracle compares, the layouts and replies that name places in them, and their seals.

Whatever stands there, the oracle answers in time or with a Fault, reads nothing outside of a window, and calls no wrong
answer right. An honest runner beside noise is right or wrong, and nobody else's fault.

Noise comes from two sides: at the oracle's own steps, before an operator or a look at the page, where one seed gives
the same interleaving again; and from a process that holds the same descriptors and writes when it likes.
FIEL_FUZZ_ROUNDS multiplies the cases, FIEL_FUZZ_SEED moves their seeds.
"""

import copy
import fcntl
import json
import math
import mmap
import multiprocessing
import os
import random
import struct
import time
import unittest
from unittest import mock

from oracle_harness import Oracle, passed, torch
from test_clock import Timed
from torch.utils._python_dispatch import TorchDispatchMode
from fiel_worker import control, values
from fiel_worker.channel import Fault, sendable
from fiel_worker.oracle import timed_call
from fiel_worker.window import Window

ROUNDS = int(os.environ.get("FIEL_FUZZ_ROUNDS", "1"))
SEED = int(os.environ.get("FIEL_FUZZ_SEED", "0"))

INTEGERS = (0, 1, -1, 2, 7, 1 << 31, -(1 << 31), (1 << 32) - 1, 1 << 62, (1 << 63) - 1, -(1 << 63))
REALS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e14, 1e300, math.inf, -math.inf, math.nan)
WORDS = [struct.pack("<q", n) for n in INTEGERS] + [struct.pack("<d", x) for x in REALS]
WORDS += [bytes.fromhex("010000000000f07f"), bytes.fromhex("ffffffffffffffff")]  # a signalling NaN, a negative one
FIELDS = 16  # of the control page


def seeds(count: int):
    return range(SEED, SEED + count * ROUNDS)


def tellable(reply: dict) -> str:
    """A reply as the judge gets it."""
    return json.dumps(sendable(reply), allow_nan=False)


class Noise:
    """Writes to a page and to windows through mappings of its own, as a runner could."""

    def __init__(self, seed: int, page: int | None, windows: list[Window], spare=()):
        """`spare`: (window, begin, end) of bytes that stay as they are, but for what is put there."""
        self.put = None  # (window's number, begin, patterns): one of them, every other time
        self.dice = random.Random(seed)
        self.page = mmap.mmap(page, control.PAGE_BYTES) if page is not None else None
        self.windows = [(mmap.mmap(w.descriptor, w.bytes), self._free(w, spare)) for w in windows]

    def _free(self, window, spare) -> list[tuple[int, int]]:
        at, free = 0, []
        for begin, end in sorted((b, e) for w, b, e in spare if w is window):
            free.append((at, begin))
            at = end
        return [(b, e) for b, e in [*free, (at, window.bytes)] if e > b]

    def __call__(self) -> None:
        if self.put and self.dice.random() < 0.5:
            target, begin, patterns = self.put
            what = self.dice.choice(patterns)
            self.windows[target][0][begin : begin + len(what)] = what
        elif self.page is not None and (not self.windows or self.dice.random() < 0.5):
            self.word()
        else:
            self.bytes()

    def word(self) -> None:
        dice, page = self.dice, self.page
        at = 8 * dice.randrange(FIELDS)
        now = struct.unpack_from("<q", page, at)[0]
        near = struct.pack("<q", max(-(1 << 63), min((1 << 63) - 1, now + dice.choice((-1, 1)))))
        page[at : at + 8] = dice.choice((*WORDS, near, near, near, dice.randbytes(8)))

    def bytes(self) -> None:
        dice = self.dice
        target, free = dice.choice(self.windows)
        begin, end = dice.choice(free)
        first = dice.randrange(begin, end)
        n = min(end - first, dice.choice((1, 2, 8, 64, 4096, 1 << 20)))
        pair = struct.pack("<2f", math.inf, math.nan)
        what = dice.choice((bytes(8), 8 * b"\xff", WORDS[-2], pair, dice.randbytes(8)))
        target[first : first + n] = (what * (n // 8 + 1))[:n]

    def close(self) -> None:
        for mapping in [m for m, _ in self.windows] + ([self.page] if self.page else []):
            mapping.close()


class AtOperators(TorchDispatchMode):
    """Noise before operators of the oracle, each with a chance."""

    def __init__(self, noise: Noise, chance: float):
        super().__init__()
        self.noise, self.chance, self.seen = noise, chance, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        if self.noise.dice.random() < self.chance:
            self.noise()
        return func(*args, **(kwargs or {}))


def make_noise(noise: Noise) -> None:
    """In a process of its own, until it is killed or alone."""
    parent = os.getppid()
    while os.getppid() == parent:
        for _ in range(noise.dice.choice((1, 1, 4, 64))):
            noise()
        time.sleep(noise.dice.choice((1e-5, 3e-4, 3e-3)))


class Clock(Timed):
    """A trusted honest runner, and one whose page and windows are full of noise."""

    def start(self, behaviour, trusted=False, count=3, laid=None, gauge=False):
        laid = laid or self.lay_out(count)
        entered = super().start(behaviour, trusted, count, laid, gauge)
        self.shared.append((self.control[-1], [self.oracle.windows[n] for n in laid[:2]]))
        return entered

    def noisy(self, seed: int, behaviour: str, held=False, only_page=False) -> dict:
        """The reply of a clock with noise at the oracle's steps, and on odd seeds by a process too."""
        self.shared = []
        count = 4
        runners = [self.start("queued" if held else "honest", True, count), self.start(behaviour, False, count)]
        page, windows = self.shared[1]
        noise = Noise(seed, page, [] if only_page else windows)
        self.addCleanup(noise.close)
        chance = noise.dice.choice((0.005, 0.02, 0.1))
        if seed % 2:
            other = multiprocessing.get_context("fork").Process(
                target=make_noise, args=(Noise(seed + 7777, page, [] if only_page else windows),))
            other.start()
            self.processes.append(other)
        wait = control.ControlPage.wait

        def noisy_wait(page, *arguments):
            if noise.dice.random() < 3 * chance:
                noise()
            return wait(page, *arguments)

        quick = {"_REPORT_NS": 10_000_000, "_ATTENTION_NS": 1_000_000}
        with mock.patch.multiple(timed_call, **quick), \
             mock.patch.object(control.ControlPage, "wait", noisy_wait), AtOperators(noise, chance):
            reply = self.time_of(
                runners, seed=seed, warmup=1, samples_max=4, verify_share=1, calls=1 + seed % 2, held=held,
                entry_timeout_ms=2000, call_timeout_ms=300, hold_timeout_ms=100)
        return reply

    def judge(self, seed: int, behaviour: str, **options) -> list[dict]:
        """The samples of the noisy runner, after what must hold of any reply."""
        begun = time.monotonic()
        reply = self.noisy(seed, behaviour, **options)
        # Entry, warming up, trials and rounds, each of which ends with its own limit; then some for a busy machine.
        self.assertLess(time.monotonic() - begun, 30)
        tellable(reply)
        self.assertFalse(self.failed(reply, 0), "the trusted runner is blamed")
        samples = [s for s in reply["samples"] if s["runner"] == 1]
        for s in reply["samples"]:
            self.assertEqual(type(s["failed"]), bool)
            for claim in ("device_ns", "host_ns", "lead_ns"):
                self.assertTrue(0 <= s.get(claim, 0) < 1e15, s)
        self.tearDown()
        self.control, self.processes = [], []
        return samples

    def test_wrong_runners_stay_wrong(self):
        failed = 0
        behaviours = ("zeros", "memo", "leaves_some", "other_shape")
        for seed in seeds(8):
            for only_page in (False, True):
                behaviour = behaviours[seed % len(behaviours)]
                with self.subTest(seed=seed, behaviour=behaviour, only_page=only_page):
                    samples = self.judge(seed, behaviour, only_page=only_page)
                    right = [s for s in samples if not s["failed"] and not s["ended"]]
                    self.assertEqual(right, [])
                    failed += sum(s["failed"] for s in samples)
        self.assertGreater(failed, 5)  # else noise only kept them from answering

    def test_held_wrong_runners_stay_wrong(self):
        for seed in seeds(6):
            behaviour = ("queued_zeros", "runs_ahead")[seed % 3 == 2]
            with self.subTest(seed=seed, behaviour=behaviour):
                samples = self.judge(seed, behaviour, held=True, only_page=seed % 4 == 0)
                wrong = behaviour == "queued_zeros"  # the other is right where it is not held
                self.assertFalse(wrong and [s for s in samples if not s["failed"] and not s["ended"]])

    def test_honest_runners_are_right_or_wrong(self):
        right = 0
        for seed in seeds(12):
            with self.subTest(seed=seed):
                held = seed % 4 == 0
                samples = self.judge(seed, "queued" if held else "honest", held=held, only_page=seed % 3 == 0)
                right += sum(s["verified"] and not s["failed"] for s in samples)
        self.assertGreater(right, 0)  # noise leaves some calls alone


TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(24)
    def forward(self, x, i):
        y = self.norm(x)
        return {"y": y, "pair": (x.sum(), x.argmax()), "same": [x[i], x[i] + 1],
                "mask": x > 0, "z": torch.complex(x, y), "half": y.half()}
def get_inputs():
    return [torch.randn(40, 24), torch.randint(0, 40, (16,))]
def get_init_inputs():
    return []
"""


def wrong_values(right: torch.Tensor) -> list[torch.Tensor]:
    if right.dtype == torch.bool:
        return [~right]
    more = (math.nan, math.inf, -math.inf) if right.dtype.is_floating_point or right.is_complex() else (-7, 1 << 62)
    return [3 * right + 100, *(torch.full_like(right, x) for x in more)]


class Verification(unittest.TestCase):
    """Windows that change between any two operators of the oracle."""

    @classmethod
    def setUpClass(cls):
        cls.oracle = Oracle(TASK)
        cls.addClassCleanup(cls.oracle.close)
        numbers = cls.oracle.inputs, cls.oracle.outputs, cls.oracle.weights
        cls.windows = [cls.oracle.oracle.windows[n] for n in numbers]
        cls.case = cls.oracle.prepare()["case"]
        cls.said = {}
        reply = cls.oracle.judge(cls.case, after=lambda oracle, placed, value: cls.said.update(value))
        assert passed(reply), reply
        cls.state = {"tree": {"dict": [["norm.running_mean", {"leaf": 0}]]}, "leaves": [
            {"path": "norm.running_mean", "dtype": "float32", "shape": [24], "stride": [1], "offset": 4096}]}

    def outputs_of(self, value):
        return [(leaf, values.view(self.windows[1], leaf)) for leaf in value["leaves"]]

    def verified_in_noise(self, noise: Noise, chance: float, state=None) -> dict:
        with AtOperators(noise, chance) as mode:
            reply = self.oracle.ask("verify", case=self.case, outputs=self.said, lowest="fp32", state=state)
        self.assertGreater(mode.seen, 50)
        tellable(reply)
        noise.close()
        return reply

    def test_wrong_answers_stay_wrong(self):
        for seed in seeds(50):
            with self.subTest(seed=seed):
                self.oracle.judge(self.case)  # right, and right again where the last noise was
                dice = random.Random(seed)
                leaf, output = dice.choice(self.outputs_of(self.said))
                at = dice.randrange(output.numel())
                wrong = wrong_values(output.view(-1)[at])
                output.view(-1)[at] = wrong[0]
                begin = leaf["offset"] + at * output.element_size()
                spare = [(self.windows[1], begin, begin + output.element_size())]
                noise = Noise(seed, None, self.windows, spare)
                noise.put = 1, begin, [bytes(w.reshape(1).view(torch.uint8).tolist()) for w in wrong]
                state = self.state if seed % 3 == 0 else None
                reply = self.verified_in_noise(noise, dice.choice((0, 0.01, 0.1, 1)), state)
                self.assertFalse(passed(reply))
                row = next(r for r in reply["outputs"] if r["path"] == leaf["path"])
                self.assertTrue(row["failing"] or row["rms_failed"], row)

    def test_right_answers_are_right_or_wrong_and_leave_the_oracle_as_it_was(self):
        for seed in seeds(30):
            with self.subTest(seed=seed):
                self.oracle.judge(self.case)
                self.verified_in_noise(Noise(seed, None, self.windows), random.Random(seed).choice((0.01, 0.1, 1)))
        self.assertTrue(passed(self.oracle.judge(self.case)))

    def test_noise_while_a_case_is_placed(self):
        for seed in seeds(25):
            with self.subTest(seed=seed):
                noise = Noise(seed, None, self.windows)
                with AtOperators(noise, 0.3):
                    self.oracle.ask("weights", case=self.case, window=self.oracle.weights)
                    placed = self.oracle.ask("place", case=self.case, **{"in": self.oracle.inputs},
                                             out=self.oracle.outputs, poison=seed & 255)
                self.assertEqual(placed["outputs"]["offset"], 0)
                noise.close()
        self.assertTrue(passed(self.oracle.judge(self.case)))

    def test_a_process_that_never_stops_writing(self):
        for seed in seeds(3):
            with self.subTest(seed=seed):
                self.oracle.judge(self.case)
                (leaf, y), *_ = self.outputs_of(self.said)
                y[3, 3] += 100
                begin = leaf["offset"] + 4 * (3 * 24 + 3)
                noise = Noise(seed, None, self.windows, [(self.windows[1], begin, begin + 4)])
                process = multiprocessing.get_context("fork").Process(target=make_noise, args=(noise,))
                process.start()
                try:
                    for _ in range(20):
                        reply = self.oracle.ask("verify", case=self.case, outputs=self.said, lowest="fp32")
                        tellable(reply)
                        self.assertFalse(passed(reply))
                finally:
                    process.kill()
                    process.join()
                    noise.close()

    def test_replies_that_lie_about_places(self):
        """Many changes of a reply, fields left out and tensors twice among them."""
        self.oracle.judge(self.case)
        faithful = [t.clone() for _, t in self.outputs_of(self.said)]
        for seed in seeds(800):
            dice = random.Random(seed)
            said = lied(dice, self.said)
            with self.subTest(seed=seed):
                state = lied(dice, self.state) if seed % 4 == 0 else None
                reply = self.oracle.ask("verify", case=self.case, outputs=said, lowest="fp32", state=state)
                tellable(reply)
                if passed(reply):  # then it named the right tensors, wherever they are
                    for (_, tensor), right in zip(self.outputs_of(said), faithful):
                        self.assertTrue(torch.allclose(tensor, right, equal_nan=True))

    def test_tensors_without_names_and_two_at_one_place(self):
        for names in ((), ("x", "x"), ("x", None), (3, {}), (10**30, ["x"])):
            said = copy.deepcopy(self.said)
            for leaf in said["leaves"]:
                del leaf["path"]
            twins = [leaf for leaf in said["leaves"] if leaf["shape"] == [16, 24]]
            for leaf, name in zip(twins, names):
                leaf |= {"path": name, "offset": twins[0]["offset"]}
            self.oracle.judge(self.case)
            reply = self.oracle.ask("verify", case=self.case, outputs=said, lowest="fp32")
            tellable(reply)
            self.assertEqual(passed(reply), not names)


NUMBERS = (0, 1, -1, 2, 3, 4, 16, 255, 256, 4095, 4096, 65536, 1 << 31, 1 << 32, 1 << 40, 1 << 48, (1 << 48) + 1,
           1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), 10**30, True, False, None, 1.0, math.inf, "4", [], {})


def number(dice: random.Random):
    return dice.choice(NUMBERS) if dice.random() < 0.6 else dice.randrange(0, 64)


def random_leaf(dice: random.Random) -> dict:
    rank = dice.choice((0, 1, 1, 2, 2, 3, 5, 17))
    legal = dice.random() < 0.4
    n = lambda: dice.randrange(0, 9) if legal else number(dice)
    leaf = {"dtype": dice.choice((*values.DTYPES, "", "int4", None, 7)), "path": "x",
            "shape": [n() for _ in range(rank)], "stride": [n() for _ in range(rank)],
            "offset": 8 * dice.randrange(0, 1024) if legal else number(dice)}
    if dice.random() < 0.1:
        leaf[dice.choice(list(leaf))] = number(dice)
    if dice.random() < 0.1:
        del leaf[dice.choice(list(leaf))]
    return leaf


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def lied(dice: random.Random, value):
    """A copy with a few numbers, fields and tensors that are others, gone or twice."""
    value = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 2, 5))):
        path = dice.choice([p for p in places(value) if p])
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        key, how = path[-1], dice.randrange(5)
        if how == 0:
            del holder[key]
        elif how == 1 and isinstance(holder, list):
            holder.append(copy.deepcopy(dice.choice(holder)))
        elif how == 2:
            holder[key] = copy.deepcopy(dice.choice(list(holder.values()) if isinstance(holder, dict) else holder))
        else:
            holder[key] = number(dice)
        if not isinstance(value, dict) or not list(places(value))[1:]:
            break
    return value


class Layouts(unittest.TestCase):
    """What names a place gets a Fault or a view of the window."""

    def setUp(self):
        self.window = Window.create("cpu", 8192)
        self.addCleanup(self.window.close)
        self.first = self.window.flat.data_ptr()

    def check_inside(self, tensor: torch.Tensor) -> None:
        if tensor.numel() == 0:
            return
        last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
        self.assertGreaterEqual(tensor.data_ptr(), self.first)
        end = tensor.data_ptr() + (last + 1) * tensor.element_size()
        self.assertLessEqual(end, self.first + self.window.bytes)
        if tensor.numel() < 1 << 16:
            tensor.clone()

    def test_a_leaf_is_a_view_or_a_fault(self):
        views = 0
        for seed in seeds(20_000):
            leaf = random_leaf(random.Random(seed))
            try:
                self.check_inside(values.view(self.window, leaf))
                views += 1
            except Fault as fault:
                self.assertEqual(fault.kind, "worker")
            except Exception as error:
                self.fail(f"seed {seed}: {leaf}: {type(error).__name__}: {error}")
        self.assertGreater(views, 1000)

    def test_a_value_is_tensors_or_a_fault(self):
        for seed in seeds(5000):
            dice = random.Random(seed)
            leaf = {"path": "a", "dtype": "float32", "shape": [4, 4], "stride": [4, 1], "offset": 256}
            tree = {"dict": [["a", {"leaf": 0}], ["b", {"tuple": [{"leaf": 1}, {"value": 1.5}]}], ["c", {"list": []}]]}
            value = lied(dice, {"tree": tree, "leaves": [leaf, leaf | {"offset": 1024}]})
            try:
                for _, tensor in values.flatten(values.tensors_of(self.window, value))[1]:
                    self.check_inside(tensor)
            except Fault:
                pass
            except Exception as error:
                self.fail(f"seed {seed}: {value}: {type(error).__name__}: {error}")

    def test_what_was_described_is_found_again(self):
        for seed in seeds(1000):
            dice = random.Random(seed)
            shape = [dice.randrange(0, 5) for _ in range(dice.randrange(0, 4))]
            tensor = torch.zeros(shape, dtype=dice.choice(list(values.DTYPES.values())))
            if len(shape) > 1 and dice.random() < 0.5:
                tensor = tensor.transpose(0, 1)
            leaf = values.describe("x", tensor)
            values.layout([leaf], 256 * dice.randrange(3))
            again = values.view(self.window, leaf)
            self.check_inside(again)
            self.assertEqual((again.shape, again.stride(), again.dtype), (tensor.shape, tensor.stride(), tensor.dtype))

    def test_an_end_that_no_integer_of_pytorch_holds(self):
        for shape, stride in (([1 << 40, 1 << 40], [0, 0]), ([10**30], [0]), ([1 << 63], [0]), ([10**30, 0], [0, 0])):
            with self.assertRaises(Fault):
                self.window.tensor(0, torch.float32, shape, stride)


SEALS = (fcntl.F_SEAL_SEAL, fcntl.F_SEAL_SHRINK, fcntl.F_SEAL_GROW, fcntl.F_SEAL_WRITE, 0x10)  # 0x10: future writes


def resize(dice: random.Random, descriptor: int) -> None:
    """One attempt on the form of a memory file."""
    try:
        how = dice.randrange(5)
        if how == 0:
            os.ftruncate(descriptor, dice.choice((0, 1, 4095, 4096, 1 << 20, 1 << 40)))
        elif how == 1:
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, dice.choice(SEALS))
        elif how == 2:
            os.posix_fallocate(descriptor, dice.choice((0, 4096, 1 << 20)), 4096)
        elif how == 3:
            os.pwrite(descriptor, b"x" * 8, dice.choice((0, 4095, 4096, 1 << 20)))
        else:
            fcntl.lockf(descriptor, dice.choice((fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN)))
    except OSError:
        pass


class Files(unittest.TestCase):
    """A runner that has a memory file leaves it as long as it is, and writable."""

    def resized(self, seed: int, descriptor: int) -> None:
        dice = random.Random(seed)
        for _ in range(20):
            resize(dice, descriptor)

    def test_windows(self):
        for seed in seeds(300):
            with self.subTest(seed=seed):
                window = Window.create("cpu", 8192)
                self.resized(seed, window.descriptor)
                self.assertEqual(os.fstat(window.descriptor).st_size, 8192)
                window.flat.fill_(7)
                self.assertEqual(int(window.flat.sum()), 7 * 8192)
                again = Window.adopt("cpu", 8192, os.dup(window.descriptor))
                self.assertEqual(int(again.flat.sum()), 7 * 8192)
                again.close()
                window.close()

    def test_control_pages_that_a_runner_has_before_the_oracle(self):
        for seed in seeds(300):
            with self.subTest(seed=seed):
                descriptor = control.create_page()
                self.resized(seed, descriptor)
                page = control.ControlPage(descriptor)
                self.resized(seed + 1, descriptor)
                self.assertEqual(os.fstat(descriptor).st_size, control.PAGE_BYTES)
                page.words[control.GO] = 3
                self.assertTrue(page.wait(control.GO, 3, 0))
                page.close()

    def test_a_page_that_could_shrink_is_none(self):
        for seals in (0, fcntl.F_SEAL_GROW, fcntl.F_SEAL_SEAL):
            descriptor = os.memfd_create("page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            self.addCleanup(os.close, descriptor)
            os.ftruncate(descriptor, control.PAGE_BYTES)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
            with self.assertRaises(Fault):
                control.ControlPage(descriptor)


if __name__ == "__main__":
    unittest.main()
