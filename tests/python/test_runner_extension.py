"""C++ extensions on the CPU: light headers and their fallback, names used twice, killed builds,
architectures, work folders."""

import os
import pathlib
import signal
import time
import unittest

from runner_harness import SOURCE, Refused, Runner, torch
from test_runner_call import TASK

INLINE = """
import torch
from torch.utils.cpp_extension import load_inline
source = r'''{source}'''
ext = load_inline(name="ext", cpp_sources=source, functions=["apply"]{more})
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.apply(x)
"""
SCALE = "torch::Tensor apply(torch::Tensor x) { return torch::mul(x, FACTOR); }"


def inline(source: str, more: str = "") -> str:
    return INLINE.format(source=source, more=more)


def scaled(factor: int) -> str:
    return inline(SCALE.replace("FACTOR", str(factor)))


class Extensions(unittest.TestCase):
    def answer(self, runner: Runner, source: str, name: str = "candidate.py"):
        loaded = runner.load(runner.file("task.py", TASK), runner.file(name, source))
        x = torch.randn(4, 8)
        out, _ = runner.call(loaded["module"], [x])
        return out / x, loaded

    def assert_factor(self, ratio, factor: float):
        self.assertTrue(torch.allclose(ratio, torch.full_like(ratio, factor)), ratio)

    def test_light_headers_serve_and_are_named(self):
        with Runner() as runner:
            ratio, loaded = self.answer(runner, scaled(3))
            self.assert_factor(ratio, 3)
            self.assertIn("light headers\n", loaded["extension_log"])

    def test_what_needs_pytorchs_headers_gets_them(self):
        body = (
            "torch::Tensor apply(torch::Tensor x) {\n"
            "  torch::OrderedDict<std::string, int> names;  // of the C++ front end\n"
            "  return torch::mul(x, 5 + (int)names.size()); }"
        )
        with Runner() as runner:
            ratio, loaded = self.answer(runner, inline(body))
            self.assert_factor(ratio, 5)
            self.assertIn("light headers do not do", loaded["extension_log"])
            self.assertIn("PyTorch's headers", loaded["extension_log"])

    def test_one_name_two_contents_in_both_orders_and_in_one_process(self):
        for factors in ((1, 2), (2, 1)):
            with Runner() as runner:
                for i, factor in enumerate(factors):
                    self.assert_factor(self.answer(runner, scaled(factor), f"c{i}.py")[0], factor)

    def test_only_an_included_header_differs(self):
        template = "import os, pathlib\nfolder = pathlib.Path(__file__).parent / 'h'\n"
        template += "folder.mkdir(exist_ok=True)\n(folder / 'f.h').write_text('#define FACTOR {}')\n"
        body = inline('#include "f.h"\n' + SCALE, ", extra_include_paths=[str(folder)]")
        with Runner() as runner:
            for i, factor in enumerate((4, 8)):
                source = template.format(factor) + body
                self.assert_factor(self.answer(runner, source, f"h{i}.py")[0], factor)

    def test_a_killed_build_blocks_nobody(self):
        victim = Runner()
        task, source = victim.file("task.py", TASK), victim.file("candidate.py", scaled(7))
        victim.socket.settimeout(0.2)
        try:
            victim.load(task, source)
        except OSError:
            pass
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list(pathlib.Path(victim.folder).rglob("main.cpp")):
            time.sleep(0.05)
        self.assertTrue(list(pathlib.Path(victim.folder).rglob("main.cpp")))
        os.kill(victim.process.pid, signal.SIGKILL)
        victim.process.wait()
        with Runner(environment={"TMPDIR": victim.folder}) as runner:
            self.assert_factor(self.answer(runner, scaled(7))[0], 7)
        victim.close()

    def test_an_inherited_architecture_list_is_overridden_and_said_so(self):
        inherited = {"TORCH_CUDA_ARCH_LIST": "7.0 7.5 8.0 8.6 9.0 10.0", "FIEL_CUDA_ARCHITECTURE": "9.0"}
        source = "import os\nassert os.environ['TORCH_CUDA_ARCH_LIST'] == '9.0'\n" + (
            "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x): return x * 2\n"
        )
        with Runner(environment=inherited) as runner:
            _, loaded = self.answer(runner, source)
            self.assertIn("compiled for 9.0 only", loaded["extension_log"])

    def test_a_compile_error_is_the_candidates_and_shows_the_message(self):
        with Runner() as runner:
            with self.assertRaises(Refused) as caught:
                self.answer(runner, inline("torch::Tensor apply(torch::Tensor x) { return y; }"))
            self.assertEqual(caught.exception.fault, "candidate")
            self.assertIn("y", caught.exception.reply["detail"])


class WorkFolders(unittest.TestCase):
    def test_a_folder_with_kernels_and_bindings(self):
        folder = SOURCE / "examples/torch/scaled_sum"
        with Runner() as runner:
            task = str(folder / "task.py")
            loaded = runner.load(task, str(folder / "work_folder"), kind="folder")
            a, b = torch.randn(4, 8), torch.randn(4, 8)
            out, _ = runner.call(loaded["module"], [a, b])
            self.assertTrue(torch.allclose(out, 2 * a + b))

    def test_no_folder(self):
        with Runner() as runner:
            with self.assertRaises(Refused) as caught:
                runner.load(runner.file("task.py", TASK), runner.folder + "/none", kind="folder")
            self.assertEqual(caught.exception.fault, "candidate")


if __name__ == "__main__":
    unittest.main()
