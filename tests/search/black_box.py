#!/usr/bin/env python3
"""Searches through the binary, offline, with the real judge on the virtual GPU.

usage: black_box.py FIEL SOURCE_DIR [TestClass[.test_name]]
"""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

FIEL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
RIGHT = (SOURCE / "examples/softmax/simple.cu").read_text()
WRONG = (SOURCE / "examples/softmax/missing_tail.cu").read_text()
SCALED_SUM = SOURCE / "examples/torch/scaled_sum"

# Small shapes: what is tested here is the search, not the judge.
SMALL = """
name = "{name}"
expression = "{expression}"
[inputs]
{inputs}
[shapes]
small = {{ N = 5, C = 64 }}
odd = {{ N = 3, C = 37 }}
bench = {{ N = 4096, C = 1024, benchmark = true }}
"""
X = 'x = { dtype = "f32", shape = ["N", "C"] }'


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {**os.environ, "NO_COLOR": "1", "FIEL_STORE": str(self.folder / "store")}

    def task(self, name="softmax", expression="y = softmax(x, dim=-1)", inputs=X):
        path = self.folder / f"{name}.toml"
        path.write_text(SMALL.format(name=name, expression=expression, inputs=inputs))
        return str(path)

    def fiel(self, *words, code=0):
        p = subprocess.run([FIEL, *words], capture_output=True, text=True, timeout=1500, env=self.env,
                           stdin=subprocess.DEVNULL)
        if code is not None:
            self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return p

    def search(self, *words, code=0):
        return json.loads(self.fiel("search", *words, "--json", code=code).stdout)

    def script(self, *answers):
        path = self.folder / "script.jsonl"
        path.write_text("".join(json.dumps({"text": a, "usage": {"input_tokens": 1000, "output_tokens": 200}}) + "\n"
                                for a in answers))
        return str(path)

    def store(self, sql):
        with sqlite3.connect(self.folder / "store/fiel.db") as db:
            return db.execute(sql).fetchall()


class Scripted(Case):
    def test_it_climbs_and_keeps_every_kernel_with_its_parents(self):
        plot, out = self.folder / "plot.svg", self.folder / "best.cu"
        task = self.task()
        r = self.search(task, "--budget", "4", "--run", "s", "--plot", str(plot), "--out", str(out))
        self.assertEqual((r["ended"], r["judged"], len(r["kernels"])), ("budget", 4, 4))
        self.assertEqual(r["best_judged_again"]["status"], "correct")
        self.assertEqual(r["kernels"][0]["measure"], "stand_in")
        self.assertEqual([k["operation"] for k in r["kernels"]], ["fresh", "climb", "climb", "climb"])
        rows = self.store("SELECT place, parent, measure, score > 0, length(state) > 0 FROM lineage ORDER BY place")
        self.assertEqual(rows, [(k["number"] - 1, k["parents"][0] - 1 if k["parents"] else None,
                                 "stand_in" if k["status"] == "correct" else "nothing",
                                 int(k["status"] == "correct"), 1) for k in r["kernels"]])
        self.assertEqual(self.store("SELECT count(*) FROM verdicts WHERE parent IS NULL"), [(1,)])
        text = plot.read_text()
        xml.etree.ElementTree.fromstring(text)
        self.assertIn("not a time", text)
        self.assertNotIn("speed-up", text)
        # What was written is the best kernel, and the judge takes it as it lies there.
        self.fiel("judge", task, str(out), "--no-store", "--budget", "quick")
        self.fiel("report", "s", code=None)

    def test_templates_are_right_for_elementwise_rows_and_products(self):
        vector = 'w = { dtype = "f32", shape = ["C"] }'
        for name, expression, inputs in (
                ("chain", "y = gelu(x + w) * x", X + "\n" + vector),
                ("normal", "y = layer_norm(x, [C], w, w)", X + "\n" + vector),
                ("half", "y = log_softmax(x, dim=-1)", X.replace("f32", "f16")),
                ("sums", "y = mean(x * w, dim=-1)", X + "\n" + vector),
                ("product", "y = relu(linear(x, m, w))", X + "\n" + vector + "\n" +
                 'm = { dtype = "f32", shape = ["C", "C"] }'),
                ("tensor", "y = matmul(x, m)", (X + '\nm = { dtype = "f32", shape = ["C", "C"] }').replace("f32", "bf16"))):
            r = self.search(self.task(name, expression, inputs), "--budget", "1", "--no-store", "--once")
            self.assertEqual(r["best"]["status"], "correct", name)

    def test_templates_are_right_for_columns_and_whole_tensors(self):
        vector = '\nw = { dtype = "f32", shape = ["C"] }'
        target = '\nt = { dtype = "f32", shape = ["N", "C"] }'
        labels = '\nt = { dtype = "i64", shape = ["N"], domain = "index", bound = "C" }'
        for name, expression, inputs in (
                ("sums", "y = relu(sum(x, dim=0)) + w", X + vector),
                ("softmax", "y = softmax(x, dim=0)", X.replace("f32", "bf16")),
                ("middle", "y = amax(x, dim=1)", X.replace('"N", "C"', '"N", 5, "C"')),
                ("norm", "y = batch_norm(x, None, None, w, w, training=True)", X + vector),
                ("images", "y = batch_norm(x, None, None, w, w, training=True)",
                 X.replace('"N", "C"', '"N", "C", 7') + vector),
                ("given", "y = relu(batch_norm(x, w, w * w, w, w))", X.replace('"N", "C"', '"N", "C", 7') + vector),
                ("counts", "y = sum(x > 0, dim=0)", X),
                ("loss", "y = huber_loss(x, t)", X + target),
                ("whole", "y = (x - mean(x)) / std(x)", X),
                ("weighted", "y = sqrt(mean(x * x * (w * w)))", X + vector),
                ("classes", "y = cross_entropy(x, t)", X + labels),
                ("rows", "y = mean(logsumexp(x, dim=-1))", X)):
            r = self.search(self.task(name, expression, inputs), "--budget", "1", "--no-store", "--once")
            self.assertEqual(r["best"] and r["best"]["status"], "correct", name)

    def check_knobs(self, expression, inputs, *starts):
        for i, start in enumerate(starts):
            r = self.search(self.task(f"t{i}", expression, inputs), "--budget", "1", "--no-store", "--once",
                            "--start", start)
            self.assertEqual(r["best"] and r["best"]["status"], "correct", start)
            for knob in start.split():
                self.assertIn(knob, r["best"]["state"].split())

    def test_knobs_of_rows_turned_far(self):
        self.check_knobs("y = layer_norm(x, [C], w, w)", X + '\nw = { dtype = "f32", shape = ["C"] }',
                         "threads=32 rows=8 vector=16 walk=2 weights=kept variance=shifted",
                         "threads=512 rows=2 vector=4 stores=stream loads=cache resident=2048 walk=row",
                         "threads=64 rows=4 vector=8 walk=4 resident=1024")

    def test_knobs_of_elementwise_kernels_turned_far(self):
        self.check_knobs("y = silu(x + w) * r", X + '\nw = { dtype = "f32", shape = ["C"] }\n'
                         'r = { dtype = "f32", shape = ["N", 1] }',
                         "order=down unroll=4 threads=128 walk=4 vector=16 math=fast", "order=line unroll=8 vector=4 walk=8",
                         "order=line unroll=1 vector=32 stores=stream loads=cache threads=1024",
                         "order=down unroll=1 threads=256 vector=8")

    def test_knobs_of_columns_turned_far(self):
        self.check_knobs("y = softmax(x * w, dim=0)", X + '\nw = { dtype = "f32", shape = ["C"] }',
                         "lanes=4 threads=1024 split=1 vector=4 softmax=passes", "lanes=64 threads=128 split=32 unroll=1",
                         "lanes=128 threads=128 split=16 vector=4 stores=stream loads=cache softmax=passes")
        self.check_knobs("y = std(x, dim=0)", X, "lanes=8 threads=512 split=4 finish=last vector=8",
                         "lanes=32 threads=256 split=64 variance=two_pass finish=last", "lanes=16 variance=shifted split=1")

    def test_knobs_of_whole_tensors_turned_far(self):
        self.check_knobs("y = std(x)", X, "threads=128 walk=16 unroll=1 finish=last", "variance=two_pass finish=last vector=4",
                         "variance=shifted threads=1024 walk=1 unroll=8")
        self.check_knobs("y = mean(softmax(x, dim=-1) * x)", X, "threads=32 rows=8 walk=2", "threads=128 rows=2 walk=row")

    def test_knobs_of_products_turned_far(self):
        turned = '\nm = { dtype = "f32", shape = ["C", "C"] }\nr = { dtype = "f32", shape = ["N", "C"] }'
        self.check_knobs("y = gelu(linear(x, m)) + r", X + turned, "tile=32x32 thread=4x4 depth=8",
                         "tile=64x128 thread=8x4 depth=16 stores=stream")
        self.check_knobs("y = matmul(transpose(m, 0, 1), x)", 'x = { dtype = "bf16", shape = ["C", "N"] }\n'
                         'm = { dtype = "bf16", shape = ["C", "C"] }', "tile=64x64 warp=32x32 depth=16",
                         "tile=64x128 warp=64x64 depth=16")

    def test_a_task_without_a_template_is_refused_by_name(self):
        p = self.fiel("search", str(SOURCE / "tasks/conv2d.toml"), code=2)
        self.assertIn("there is no template: operator 'conv2d'", p.stderr)
        self.assertFalse((self.folder / "store").exists())

    def test_a_killed_search_goes_on(self):
        words = [FIEL, "search", self.task(), "--budget", "5", "--run", "k", "--once"]
        first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env)
        for _ in range(6000):
            try:
                if self.store("SELECT count(*) FROM lineage")[0][0] >= 2:
                    break
            except sqlite3.Error:
                pass
            time.sleep(0.05)
        first.kill()
        first.wait()
        kept = self.store("SELECT place, state FROM lineage ORDER BY place")
        self.assertGreaterEqual(len(kept), 2)
        r = self.search("--resume", "k")
        self.assertEqual(r["judged"], 5)
        rows = self.store("SELECT place, state FROM lineage ORDER BY place")
        self.assertEqual(rows[:len(kept)], kept)
        self.assertEqual([k["state"] for k in r["kernels"]], [state for _, state in rows])
        self.assertEqual(self.store("SELECT state FROM runs"), [("done",)])

    def test_an_interrupted_search_says_so_and_goes_on(self):
        words = [FIEL, "search", self.task(), "--budget", "40", "--run", "i", "--once"]
        first = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        for line in first.stderr:
            if "fresh" in line:
                first.send_signal(signal.SIGINT)
                break
        first.communicate(timeout=600)
        self.assertEqual(first.returncode, 130)
        self.assertEqual(self.store("SELECT state FROM runs"), [("stopped",)])
        judged = self.store("SELECT count(*) FROM lineage")[0][0]
        r = self.search("--resume", "i", "--budget", str(judged + 1))
        self.assertEqual(r["judged"], judged + 1)

    def test_another_task_under_the_same_name_is_not_gone_on_with(self):
        task = self.task()
        self.search(task, "--budget", "1", "--run", "c", "--once")
        self.task(expression="y = relu(x)")
        self.assertIn("has changed", self.fiel("search", "--resume", "c", "--budget", "2", code=2).stderr)


class Models(Case):
    @staticmethod
    def answer(note, source):
        return f"note: {note}\n```cuda\n{source}\n```\n"

    def test_a_model_goes_from_wrong_to_right_by_the_judges_words(self):
        script = self.script(self.answer("no tail", WRONG), "I think about it.", self.answer("the same", WRONG),
                             self.answer("with a tail", RIGHT))
        r = self.search(self.task(), "--proposer", "llm", "--script", script, "--strategy", "refine", "--budget", "2",
                        "--prices", "3,15", "--once")
        self.assertEqual([k["status"] for k in r["kernels"]], ["incorrect", "correct"])
        self.assertEqual([k["note"] for k in r["kernels"]], ["no tail", "with a tail"])
        self.assertEqual(r["kernels"][1]["spent"]["proposals"], 3)
        self.assertAlmostEqual(r["spent"]["cost"], 4 * (1000 * 3 + 200 * 15) / 1e6)

    def test_a_recorded_endpoint_answers_in_the_place_of_a_model(self):
        body = {"choices": [{"index": 0, "message": {"content": self.answer("replayed", RIGHT)},
                             "finish_reason": "stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
        replay = self.folder / "talk.jsonl"
        replay.write_text(json.dumps({"response": {"status": 200, "headers": {"content-type": "application/json"},
                                                   "body": json.dumps(body), "end": "complete"}}) + "\n")
        r = self.search(self.task(), "--proposer", "llm", "--model", "m", "--replay", str(replay), "--strategy",
                        "best-of-n", "--budget", "1", "--once")
        self.assertEqual((r["best"]["status"], r["best"]["note"]), ("correct", "replayed"))
        self.assertEqual(r["spent"]["input_tokens"], 7)

    def test_misuse_is_named(self):
        for words in (["--strategy", "clim"], ["--proposer", "gpt"], ["--proposer", "llm"], ["--budget", "x"],
                      ["--resume", "none"], ["--start", "threads=7"], ["--start", "threads=1024 rows=8"], ["--proposer", "llm", "--script", "missing"]):
            task = [] if "--resume" in words else [self.task()]
            p = self.fiel("search", *task, *words, code=2)
            self.assertIn("error:", p.stderr, words)

    def test_there_are_no_templates_of_pytorch_tasks(self):
        task = str(SCALED_SUM / "task.py")
        for words in ([], ["--proposer", "scripted"]):
            p = self.fiel("search", task, *words, code=2)
            self.assertIn("this is a PyTorch task", p.stderr)
            self.assertIn("--proposer llm", p.stderr)
        # Who is asked for what the device or the task does not take hears of it before anything is asked.
        for words in ([task, "--device", "cpu", "--kind", "cu"], [task, "--device", "virtual", "--kind", "py"],
                      [self.task(), "--kind", "py"]):
            self.fiel("search", *words, "--proposer", "llm", "--script", "none.jsonl", code=2)
        self.assertFalse((self.folder / "store").exists())


class TorchTasks(Case):
    """Modules and bare kernels of a PyTorch task. Nothing is timed here: right or wrong is all that there is."""
    WRONG_MODULE, RIGHT_MODULE = ((SCALED_SUM / f"{name}.py").read_text() for name in ("ignores_alpha", "plain"))
    BARE = """#include <fiel/kernel.h>
__global__ void scaled(const float* a, const float* b, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 2.f * a[i] + b[i];
}
FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  const long long n = inputs[0].shape[0] * inputs[0].shape[1];
  scaled<<<(n + 255) / 256, 256, 0, stream>>>(fiel_data(const float, inputs[0]), fiel_data(const float, inputs[1]),
                                             fiel_data(float, outputs[0]), n);
  return 0;
}
"""

    @staticmethod
    def answer(note, source, language="python"):
        return f"note: {note}\n```{language}\n{source}\n```\n"

    def torch_search(self, *words, device="cpu"):
        return self.search(str(SCALED_SUM / "task.py"), "--device", device, "--proposer", "llm", *words)

    def test_modules_go_from_wrong_to_right_are_kept_and_gone_on_with(self):
        # Told apart by what follows //, which is no comment here.
        halves = [self.RIGHT_MODULE.replace("self.alpha = alpha", f"self.alpha = alpha * {n} // {n}") for n in (2, 4)]
        script = self.script(self.answer("no alpha", self.WRONG_MODULE), self.answer("bare", self.BARE, "cuda"),
                             self.answer("add", self.RIGHT_MODULE), self.answer("2", halves[0]),
                             self.answer("no ModelNew", "import torch\n"), self.answer("4", halves[1]))
        words = ["--script", script, "--strategy", "refine", "--run", "p", "--once"]
        out, plot = self.folder / "best.py", self.folder / "plot.svg"
        r = self.torch_search(*words, "--budget", "2", "--out", str(out), "--plot", str(plot))
        self.assertEqual([k["status"] for k in r["kernels"]], ["incorrect", "correct"])
        self.assertEqual(r["kernels"][1]["spent"]["proposals"], 2)  # no device for the bare one: not judged
        self.assertEqual([(k["measure"], k["score"]) for k in r["kernels"]], [("nothing", None)] * 2)
        self.assertEqual(out.read_text().strip(), self.RIGHT_MODULE.strip())
        xml.etree.ElementTree.fromstring(plot.read_text())
        r = self.search("--resume", "p", "--budget", "5")
        self.assertEqual([k["status"] for k in r["kernels"]],
                         ["incorrect", "correct", "correct", "compile_error", "correct"])
        self.assertEqual(self.store("SELECT count(*) FROM lineage"), [(5,)])
        self.assertEqual(self.store("SELECT kernel FROM entries WHERE kernel LIKE '%.py'"),
                         [(f"{n:04}.py",) for n in range(1, 6)])

    def test_bare_kernels_are_judged_on_the_virtual_gpu(self):
        wrong = self.BARE.replace("i < n", "i < n - 1")
        script = self.script(*(self.answer("bare", k, "cuda") for k in (wrong, self.BARE)))
        r = self.torch_search("--script", script, "--strategy", "scale", "--budget", "2", "--once", device="virtual")
        self.assertEqual([k["status"] for k in r["kernels"]], ["incorrect", "correct"])
        self.assertEqual(r["best"]["measure"], "nothing")

    def test_every_strategy_asks_for_modules(self):
        kernels = [self.answer(str(n), self.RIGHT_MODULE + f"\nVERSION = [{', '.join(map(str, range(n * 9)))}]\n")
                   for n in range(1, 4)]
        for strategy, budget in (("best-of-n", 1), ("evolve", 3), ("beam", 2), ("climb", 2)):
            r = self.torch_search("--script", self.script(*kernels), "--strategy", strategy, "--budget", str(budget),
                                  "--once", "--no-store", "--width", "1", "--branch", "1", "--islands", "1")
            self.assertEqual([k["status"] for k in r["kernels"]], ["correct"] * budget, strategy)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
