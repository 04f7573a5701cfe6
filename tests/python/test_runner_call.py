"""Calls: nesting, aliases, strange outputs, state, memory, and failures that are replies."""

import unittest

from runner_harness import Refused, Runner, torch
from fiel_worker import values

TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    return [torch.randn(4, 8)]
def get_init_inputs():
    return []
"""


def module(body: str, init: str = "pass", top: str = "") -> str:
    return f"""
import torch
{top}
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, x):
        {body}
"""


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()
        cls.task = cls.runner.file("task.py", TASK)

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def load(self, body: str, init: str = "pass", **more) -> int:
        source = self.runner.file(f"{self._testMethodName}.py", module(body, init, **more))
        return self.runner.load(self.task, source)["module"]

    def call(self, body: str, init: str = "pass", x=None, **fields):
        x = torch.randn(4, 8) if x is None else x
        return x, *self.runner.call(self.load(body, init), [x], **fields)

    def refused(self, body: str, init: str = "pass", top: str = "") -> dict:
        with self.assertRaises(Refused) as caught:
            self.runner.call(self.load(body, init, top=top), [torch.randn(4, 8)])
        return caught.exception.reply

    def test_nested_outputs_come_back_as_they_were(self):
        x, out, _ = self.call("return {'a': (x + 1, [x * 2, None]), 'n': 3}")
        self.assertTrue(torch.equal(out["a"][0], x + 1))
        self.assertTrue(torch.equal(out["a"][1][0], x * 2))
        self.assertEqual((out["a"][1][1], out["n"]), (None, 3))

    def test_strides_are_kept_where_dense_and_said_where_not(self):
        x, out, reply = self.call("y = x + 0; return x.t().clone(), y.t(), y[:, ::2], y[:1].expand(4, 8)")
        leaves = reply["outputs"]["leaves"]
        self.assertEqual(leaves[1]["stride"], [1, 8])
        self.assertEqual((leaves[2]["stride"], leaves[2]["stride_was"]), ([4, 1], [8, 2]))
        self.assertEqual(leaves[3]["stride_was"], [0, 1])
        for got, want in zip(out, (x.t(), x.t(), x[:, ::2], x[:1].expand(4, 8))):
            self.assertTrue(torch.equal(got, want))

    def test_outputs_stand_apart_by_guards(self):
        _, _, reply = self.call("return x + 1, x + 2")
        first, second = (leaf["offset"] for leaf in reply["outputs"]["leaves"])
        self.assertGreaterEqual(second - first, 4 * 8 * 4 + values.GUARD_BYTES)

    def test_aliases_of_inputs_are_named(self):
        _, _, reply = self.call("return x[1:], x + 1, x.view(-1)")
        self.assertEqual(reply["aliases"], ["0", "2"])

    def test_writes_to_inputs_reach_the_window_unless_private(self):
        x, _, _ = self.call("x.zero_(); return x + 1")
        self.assertTrue(torch.equal(self.runner.last_inputs[0], torch.zeros(4, 8)))
        x, _, _ = self.call("x.zero_(); return x + 1", private=True)
        self.assertTrue(torch.equal(self.runner.last_inputs[0], x))

    def test_strange_outputs_are_structure(self):
        body = (
            "class Lazy(torch.Tensor): pass\n"
            "        return x.to_sparse(), x.as_subclass(Lazy), object(), x.to('meta'), 2**80, 'text'"
        )
        _, out, _ = self.call(body)
        self.assertTrue(all(isinstance(item, values.Strange) for item in out[:5]), out)
        self.assertIn("sparse", out[0])
        self.assertIn("Lazy", out[1])
        self.assertEqual(out[5], "text")

    def test_too_much_output_is_the_candidates_fault(self):
        self.assertEqual(self.refused("return x.repeat(4096, 64)")["fault"], "candidate")
        self.assertEqual(self.refused("return [x] * 5000")["fault"], "candidate")
        self.assertEqual(self.refused("a = []; a.append(a); return a")["fault"], "candidate")

    def test_whatever_is_raised_is_a_reply_with_a_traceback(self):
        for body in (
            "raise SystemExit(0)", "raise KeyboardInterrupt()", "raise GeneratorExit()",
            "import sys; sys.exit('bye')", "return x @ x", "return undefined_name",
        ):
            reply = self.refused(body)
            self.assertEqual(reply["fault"], "candidate", body)
            self.assertLessEqual(len(reply["detail"]), 8192)
        self.assertIn("undefined_name", reply["detail"])

    def test_an_exception_that_cannot_be_printed(self):
        body = (
            "class Bad(Exception):\n"
            "            def __str__(self): raise RuntimeError('no')\n        raise Bad()"
        )
        self.assertEqual(self.refused(body)["fault"], "candidate")

    def test_a_failure_shows_what_was_printed_before(self):
        reply = self.refused("print('last words'); raise ValueError(1)")
        self.assertIn("last words", reply["detail"])

    def test_memory_errors_are_memory(self):
        self.assertEqual(self.refused("raise MemoryError()")["fault"], "memory")

    def test_floods_are_bounded(self):
        body = (
            "import os, ctypes\n"
            "        print('begin')\n        print('y' * (8 << 20))\n"
            "        ctypes.CDLL(None).puts(b'from C')\n        return x + 1"
        )
        x, out, reply = self.call(body)
        self.assertTrue(torch.equal(out, x + 1))
        self.assertTrue(reply["printed"].startswith("begin"))
        self.assertLess(len(reply["printed"]), 5000)

    def test_c_and_python_prints_are_returned(self):
        body = (
            "import os, sys\n        print('out'); print('err', file=sys.stderr)\n"
            "        os.write(1, b'raw'); return x + 1"
        )
        _, _, reply = self.call(body)
        for word in ("out", "err", "raw"):
            self.assertIn(word, reply["printed"])

    def test_closed_descriptors_do_not_matter(self):
        x, out, _ = self.call("import os; os.closerange(1, 100); return x + 1")
        self.assertTrue(torch.equal(out, x + 1))
        x, out, _ = self.call("return x + 2")
        self.assertTrue(torch.equal(out, x + 2))

    def test_patched_torch_does_not_hang_the_protocol(self):
        body = (
            "torch.Tensor.copy_ = None; torch.cuda.synchronize = None; import json\n"
            "        json.dumps = None; return x + 1"
        )
        with Runner() as runner:
            candidate = runner.load(runner.file("t.py", TASK), runner.file("c.py", module(body)))
            x = torch.randn(4, 8)
            try:
                runner.call(candidate["module"], [x])
            except (Refused, EOFError):
                pass  # its own loss: an answer or a death, never silence

    def test_threads_left_behind_do_not_keep_the_process(self):
        body = "import threading, time\n        "
        body += "threading.Thread(target=time.sleep, args=(9999,)).start(); return x + 1"
        runner = Runner()
        candidate = runner.load(runner.file("t.py", TASK), runner.file("c.py", module(body)))
        runner.call(candidate["module"], [torch.randn(4, 8)])
        runner.socket.close()
        self.assertEqual(runner.process.wait(20), 0)
        runner.close()

    def test_gradients_are_off_and_outputs_detached(self):
        body = "assert not torch.is_grad_enabled(); return self.p * x"
        _, out, _ = self.call(body, "self.p = torch.nn.Parameter(torch.ones(8))")
        self.assertFalse(out.requires_grad)

    def test_state_holds_buffers_and_attributes_after_the_call(self):
        init = "self.norm = torch.nn.BatchNorm1d(8); self.hidden = torch.zeros(4, 8)"
        number = self.load("self.hidden = x + 1; return self.norm(x)", init)
        self.runner.ask("unload", module=number)
        source = self.runner.file("s.py", module("self.hidden = x + 1; return self.norm(x)", init))
        number = self.runner.load(self.task, source, mode="train")["module"]
        x = torch.randn(4, 8)
        self.runner.call(number, [x])
        name, window = self.runner.window(1 << 20)
        reply = self.runner.ask(
            "state", module=number, window=name, region={"offset": 0, "bytes": 1 << 20}
        )
        state = values.tensors_of(window, reply["state"])
        self.assertTrue(torch.allclose(state["norm.running_mean"], 0.1 * x.mean(0), atol=1e-6))
        self.assertEqual(int(state["norm.num_batches_tracked"]), 1)
        self.assertTrue(torch.equal(state["hidden"], x + 1))
        small = {"offset": 0, "bytes": 9000}
        reply = self.runner.ask("state", module=number, window=name, region=small)
        self.assertTrue(reply["left_out"])

    def test_memory_has_its_fields(self):
        number = self.load("return x + 1")
        reply = self.runner.ask("memory", module=number)
        self.assertGreater(reply["resident_peak"], 0)

    def test_unknown_things_are_the_judges_fault(self):
        for operation, fields in (
            ("nonsense", {}), ("memory", {"module": 999}),
            ("call", {"module": 999, "window": 9}), ("drop", {}),
        ):
            with self.assertRaises(Refused) as caught:
                self.runner.ask(operation, **fields)
            self.assertEqual(caught.exception.fault, "worker")


class Loads(unittest.TestCase):
    def test_failures_say_whose_they_are(self):
        with Runner() as runner:
            task = runner.file("task.py", TASK)
            for source in ("x = (", "raise ValueError(1)", "import nothing_of_this_name", "y = 1"):
                with self.assertRaises(Refused) as caught:
                    runner.load(task, runner.file("c.py", source))
                self.assertEqual(caught.exception.fault, "candidate", source)
            with self.assertRaises(Refused) as caught:
                runner.load(runner.file("broken.py", "raise ValueError(1)"))
            self.assertEqual(caught.exception.fault, "task")
            with self.assertRaises(Refused) as caught:
                gpu = module("return x", "torch.zeros(1, device='cuda')")
                runner.load(task, runner.file("gpu.py", gpu))
            self.assertEqual(caught.exception.fault, "unsupported")

    def test_a_constructor_draws_from_the_tasks_seed(self):
        draws = TASK.replace("def forward", "def __init__(self):\n        super().__init__()\n"
                             "        self.w = torch.nn.Parameter(torch.randn(3))\n    def forward")
        draws = draws.replace("return x", "return x + self.w.sum()")
        with Runner() as runner:
            task = runner.file("task.py", draws)
            candidate = runner.file("c.py", draws.replace("Model(", "ModelNew(") + "torch.randn(9)\n")
            x = torch.randn(4, 8)
            numbers = [runner.load(task)["module"], runner.load(task, candidate)["module"]]
            first, second = (runner.call(number, [x])[0] for number in numbers)
            self.assertTrue(torch.equal(first, second))

    def test_a_compiled_reference_answers(self):
        with Runner() as runner:
            task = runner.file("task.py", TASK.replace("return x", "return torch.relu(x) + 1"))
            number = runner.load(task, compile="default")["module"]
            x = torch.randn(4, 8)
            out, _ = runner.call(number, [x])
            self.assertTrue(torch.allclose(out, torch.relu(x) + 1))

    def test_building_compiles_and_runs_nothing(self):
        counting = TASK.replace("def forward", "def __init__(self):\n        super().__init__()\n"
                                "        self.register_buffer('calls', torch.zeros(()))\n    def forward")
        counting = counting.replace("return x", "self.calls += 1\n        return x * 2")
        with Runner() as runner:
            number = runner.load(runner.file("task.py", counting), compile="default")["module"]
            x = torch.randn(4, 8)
            window, value = runner.place([x])
            for _ in range(2):
                self.assertTrue(runner.ask("build", module=number, window=window, inputs=value)["built"])
            out, _ = runner.call(number, [x])
            self.assertTrue(torch.equal(out, 2 * x))
            name, target = runner.window(1 << 20)
            state = runner.ask("state", module=number, window=name,
                               region={"offset": 0, "bytes": 1 << 20})["state"]
            self.assertEqual(values.tensors_of(target, state)["calls"].item(), 1)
            plain = runner.load(runner.file("task.py", counting))["module"]
            self.assertFalse(runner.ask("build", module=plain, window=window, inputs=value)["built"])


if __name__ == "__main__":
    unittest.main()
