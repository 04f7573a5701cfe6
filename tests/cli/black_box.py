#!/usr/bin/env python3
"""Black-box tests of the fiel binary: what bad input and hostile kernels get.

usage: black_box.py FIEL SOURCE_DIR [TestClass[.test_name]]
Each kernel is written into a temporary folder, judged, and the exit code, the verdict and the time
taken are compared with what docs/verdicts.md promises.
"""
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from xml.etree import ElementTree

FIEL, SOURCE = sys.argv[1], sys.argv[2]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import exit_codes  # noqa: E402
import schema  # noqa: E402
STORE = tempfile.TemporaryDirectory()

ADD_TASK = """
name = "scale"
description = "twice x"
expression = "y = 2 * x + 1"
[inputs]
x = { dtype = "f32", shape = ["N"] }
[outputs]
y = "f32"
[shapes]
small = { N = 300 }
"""

HEAD = "#include <fiel/kernel.h>\n"
KERNEL = """
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}
"""


def run_body(before="", after=""):
    return (
        "FIEL_KERNEL int fiel_run(const fiel_tensor* in, int n_in, fiel_tensor* out, int n_out,"
        " cudaStream_t stream) {\n  int n = (int)fiel_numel(&in[0]);\n"
        + before
        + "  scale<<<(n + 127) / 128, 128, 0, stream>>>(fiel_data(const float, in[0]),"
        " fiel_data(float, out[0]), n);\n"
        + after
        + "  return cudaGetLastError();\n}\n"
    )


HONEST = HEAD + KERNEL + run_body()


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def json(self):
        return json.loads(self.out)


def fiel(*words, cwd=None, timeout=600, env=None):
    full = {**os.environ, "NO_COLOR": "1", "FIEL_STORE": STORE.name, **(env or {})}
    p = subprocess.run([FIEL, *words], capture_output=True, cwd=cwd, timeout=timeout, env=full,
                       stdin=subprocess.DEVNULL)
    return Result(p.returncode, p.stdout.decode("utf-8"), p.stderr.decode("utf-8"))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.task = self.write("scale.toml", ADD_TASK)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def judge(self, source, *flags, env=None):
        kernel = self.write("kernel.cu", source)
        r = fiel("judge", self.task, kernel, "--json", "--budget", "quick", "--seed", "7", *flags, env=env)
        self.assertTrue(r.out, r.err)
        return r, self.checked(r)

    def checked(self, r):
        """The document, which follows the published schema, as the exit code follows the statuses."""
        document = r.json()
        verdicts = document.get("verdicts", [document])
        self.assertEqual(schema.complaints(document), [], [v["status"] for v in verdicts])
        self.assertEqual(list(exit_codes.complaints(verdicts, r.code)), [])
        return document


class Words(Case):
    """The command line: answers without any kernel."""

    def test_help_names_every_verb_and_goes_to_stdout(self):
        r = fiel("help")
        self.assertEqual(r.code, 0)
        for verb in ("judge", "explain", "doctor", "tasks", "cache", "profile", "version",
                     "init"):
            self.assertIn(verb, r.out)
            self.assertEqual(fiel("help", verb).code, 0)
            self.assertEqual(fiel(verb, "--help").code, 0)

    def test_no_words_is_usage_with_help_on_stderr(self):
        r = fiel()
        self.assertEqual((r.code, r.out), (2, ""))
        self.assertIn("usage:", r.err)

    def test_misspelt_verb_flag_and_word_are_answered_with_the_nearest(self):
        for words, near in ((["judje"], "judge"), (["explain", "incorect"], "incorrect"),
                            (["judge", self.task, "x.cu", "--sede", "1"], "--seed"),
                            (["judge", self.task, "x.cu", "--budget", "quik"], "quick"),
                            (["judge", "--self", "task.py", "--baseline-cache", "refres"], "refresh"),
                            (["cache", "stat"], "stats"), (["tasks", "sho"], "show")):
            r = fiel(*words)
            self.assertEqual(r.code, 2, words)
            self.assertIn("did you mean '" + near, r.err)
            self.assertEqual(r.out, "")

    def test_a_gpu_that_is_not_there_is_exit_code_three_with_the_reason(self):
        kernel = self.write("kernel.cu", "")
        for hidden in ("-1", ""):
            r = fiel("judge", self.task, kernel, "--device", "cuda:0",
                     env={"CUDA_VISIBLE_DEVICES": hidden})
            self.assertEqual((r.code, r.out), (3, ""), hidden)
            self.assertRegex(r.err, "libcuda|CUDA_VISIBLE_DEVICES")
            self.assertIn("help:", r.err)
        r = fiel("judge", self.task, kernel, "--device", "gpu0")
        self.assertEqual(r.code, 2)
        self.assertIn("cuda:0", r.err)

    def test_values_of_flags_are_checked(self):
        for words in (["--seed", "-3"], ["--seed", "99999999999999999999"], ["--timeout", "soon"],
                      ["--seed"], ["--json=yes"]):
            self.assertEqual(fiel("judge", self.task, self.task, *words).code, 2, words)

    def test_explain_knows_statuses_findings_probes_and_codes(self):
        for word in ("incorrect", "shared-race", "offset-mean", "tf32", "3"):
            r = fiel("explain", word, "--json")
            self.assertEqual(r.code, 0, word)
            self.assertGreater(len(r.json()["explanations"][0]["text"]), 30)
        self.assertGreater(len(fiel("explain", "--json").json()["explanations"]), 60)

    def test_version_and_cache_answer_in_json(self):
        self.assertEqual(fiel("version", "--json").json()["schema_version"], 1)
        env = {"FIEL_CACHE": os.path.join(self.folder.name, "cache")}
        os.makedirs(env["FIEL_CACHE"] + "/build/x")
        with open(env["FIEL_CACHE"] + "/build/x/f", "wb") as f:
            f.write(b"12345")
        self.assertEqual(fiel("cache", "stats", "--json", env=env).json()["bytes"], 5)
        self.assertEqual(fiel("cache", "clear", "--json", env=env).json()["removed_files"], 1)
        self.assertEqual(fiel("cache", "path", env=env).out.strip(), env["FIEL_CACHE"])
        self.assertTrue(os.path.isdir(env["FIEL_CACHE"]))

    def test_output_that_is_lost_is_no_success(self):
        for words in (["explain", "incorrect"], ["doctor", "--json"]):
            with open("/dev/full", "w") as full:
                r = subprocess.run([FIEL, *words], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(r.returncode, 3, words)
            self.assertIn("could not be written", r.stderr)
        # Who reads a line and leaves has what it wanted.
        r = subprocess.run(["sh", "-c", f"'{FIEL}' help | head -1; '{FIEL}' doctor --json | head -c 1"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(r.stderr, "")

    def test_no_color_and_no_progress_off_a_terminal(self):
        r = fiel("explain", "incorrect")
        self.assertNotIn("\x1b", r.out + r.err)


class Tasks(Case):
    def test_list_and_show(self):
        tasks = os.path.join(SOURCE, "tasks")
        r = fiel("tasks", "list", tasks)
        self.assertEqual(r.code, 0, r.err)
        self.assertGreaterEqual(len(r.out.splitlines()), 40)
        shown = fiel("tasks", "show", os.path.join(tasks, "softmax.toml"), "--json").json()["task"]
        self.assertEqual(shown["name"], "softmax")
        self.assertIn("softmax", fiel("tasks", "show", os.path.join(tasks, "softmax.toml")).out)

    def test_an_empty_folder_is_nothing_to_do(self):
        self.assertEqual(fiel("tasks", "list", self.write("file", "") + "-none").code, 5)

    def test_broken_tasks_are_usage_errors_with_a_place(self):
        broken = {
            "name = [": ("1:9", ""),
            ADD_TASK.replace("2 * x + 1", "sofmax(x, dim=0)"): ("4:", "did you mean 'softmax'"),
            ADD_TASK.replace('dtype = "f32"', 'dtype = "f33"'): ("6:15", 'did you mean "f32"'),
            ADD_TASK.replace("N = 300", "M = 300"): ("6:30", 'did you mean "M"'),
            ADD_TASK.replace("N = 300", "N = 9223372036854775807"): ("10:15", ""),
        }
        kernel = self.write("k.cu", HONEST)
        for text, (place, hint) in broken.items():
            path = self.write("broken.toml", text)
            r = fiel("judge", path, kernel)
            self.assertEqual((r.code, r.out), (2, ""), r.err)
            self.assertIn(f"broken.toml:{place}", r.err)
            self.assertRegex(r.err, r"\n[ |]+\^\n")
            self.assertIn(hint, r.err)

    def test_what_is_larger_than_a_task_may_be_is_a_usage_error(self):
        for text in (ADD_TASK + "# " + "x" * (2 << 20), ADD_TASK.replace("2 * x", "+".join(["x"] * 5000)),
                     ADD_TASK.replace("2 * x", "(" * 500 + "x" + ")" * 500), ADD_TASK + "a = " + "[" * 500,
                     ADD_TASK.replace("N = 300", "N = 1000000000000"), ADD_TASK.replace('"N"', '"N*N*N*N*N*N"')):
            path = self.write("large.toml", text)
            for words in (["judge", path, path], ["tasks", "show", path], ["init", path]):
                r = fiel(*words)
                self.assertEqual((r.code, r.out), (2, ""), r.err)
                self.assertLess(len(r.err), 2000)

    def test_what_is_no_file_is_a_usage_error_and_never_waited_for(self):
        at = {name: os.path.join(self.folder.name, name + ".toml") for name in ("loop", "pipe", "folder", "gone")}
        os.symlink(at["loop"], at["loop"])
        os.symlink("nowhere", at["gone"])
        os.mkfifo(at["pipe"])
        os.mkdir(at["folder"])
        for path in (*at.values(), "/dev/zero", "/proc/self/mem", ""):
            for words in (["judge", path, self.task], ["profile", path, self.task], ["tasks", "show", path],
                          ["init", path]):
                r = fiel(*words, timeout=120)
                self.assertEqual((r.code, r.out), (2, ""), r.err)
                self.assertIn(path, r.err)
        os.symlink("nowhere", os.path.join(self.folder.name, "kernel.cu"))
        r = fiel("judge", self.task, os.path.join(self.folder.name, "kernel.cu"))
        self.assertEqual(r.code, 2)
        self.assertIn("leads to no file", r.err)

    def test_nothing_that_others_wrote_drives_the_terminal(self):
        evil = "\x1b[31m\x9b2J\x7f"
        self.write(evil + ".toml", ADD_TASK.replace("twice x", "\\u001b[31m\\u009b2J" + "\\ntwo\\nlines"))
        self.write("broken" + evil + ".toml", 'name = "' + evil + '" +')
        named = os.path.join(self.folder.name, evil + ".toml")
        for words in (["tasks", "list", self.folder.name], ["tasks", "show", named], ["init", named], ["judge", evil, evil],
                      ["judge", named, evil], ["init", evil], ["profile", evil, evil], ["explain", evil], [evil],
                      ["judge", named, named]):
            r = fiel(*words)
            self.assertNotRegex(r.out + r.err, "[\x00-\x08\x0b-\x1f\x7f-\x9f]", words)
        self.assertEqual(len(fiel("tasks", "list", self.folder.name).out.splitlines()), 2)

    def test_missing_files_are_usage_errors(self):
        kernel = self.write("kernel.cu", HONEST)
        r = fiel("judge", self.task + "x", kernel)
        self.assertEqual(r.code, 2, r.err)
        r = fiel("judge", self.task, os.path.join(self.folder.name, "kernle.cu"))
        self.assertEqual(r.code, 2, r.err)
        self.assertIn("did you mean", r.err)

    def test_a_folder_without_kernels_is_nothing_to_judge(self):
        os.mkdir(os.path.join(self.folder.name, "empty"))
        r = fiel("judge", self.task, os.path.join(self.folder.name, "empty"))
        self.assertEqual(r.code, 5)


class Kernels(Case):
    """Compile errors and ordinary faults."""

    def test_honest(self):
        r, v = self.judge(HONEST)
        self.assertEqual((r.code, v["status"]), (0, "correct"), v["reason"])

    def test_same_seed_same_bytes(self):
        first, _ = self.judge(HONEST.replace("+ 1.f", "+ 1.5f"))
        second, _ = self.judge(HONEST.replace("+ 1.f", "+ 1.5f"))
        self.assertEqual(first.out, second.out)

    def test_does_not_compile(self):
        r, v = self.judge(HEAD + "int fiel_run( {")
        self.assertEqual((r.code, v["status"]), (1, "compile_error"))
        self.assertIn("error", v["compiler_output"])

    def test_exports_nothing(self):
        r, v = self.judge(HEAD + KERNEL)
        self.assertEqual((r.code, v["status"]), (1, "compile_error"))
        self.assertIn("fiel_run", v["reason"] + v["compiler_output"])

    def test_empty_file(self):
        r, v = self.judge("")
        self.assertEqual((r.code, v["status"]), (1, "compile_error"))

    def test_returns_failure(self):
        r, v = self.judge(HEAD + KERNEL + run_body(before="  return 7;\n"))
        self.assertEqual((r.code, v["status"]), (1, "runtime_error"))
        self.assertIn("7", v["reason"])

    def test_launch_too_large(self):
        r, v = self.judge(HEAD + KERNEL + run_body().replace("128, 0, stream", "4096, 0, stream"))
        self.assertEqual((r.code, v["status"]), (1, "runtime_error"), v["reason"])

    def test_instructions_beyond_the_device_are_unsupported_and_no_fault_of_the_kernel(self):
        cluster = 'asm volatile("barrier.cluster.arrive; barrier.cluster.wait;"); if (i < n)'
        r, v = self.judge(HEAD + KERNEL.replace("if (i < n)", cluster) + run_body())
        self.assertEqual((r.code, v["status"]), (3, "unsupported"), v["reason"])
        self.assertEqual(v["unsupported_by"], "device")
        self.assertIn("barrier.cluster", v["reason"])

    def test_a_launch_in_clusters_is_unsupported_and_no_fault_of_the_kernel(self):
        launch = """
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3((n + 255) / 256 * 2);
  c.blockDim = dim3(128);
  c.stream = stream;
  c.attrs = &cluster;
  c.numAttrs = 1;
  return cudaLaunchKernelEx(&c, scale, fiel_data(const float, in[0]), fiel_data(float, out[0]), n);
"""
        r, v = self.judge(HEAD + KERNEL + run_body(before=launch))
        self.assertEqual((r.code, v["status"]), (3, "unsupported"), v["reason"])
        self.assertEqual(v["unsupported_by"], "device")
        self.assertIn("clusters of 2x1x1 blocks", v["reason"])

    def test_refusing_the_tasks_shape_is_unsupported_by_the_kernel(self):
        r, v = self.judge(HEAD + KERNEL + run_body(before="  return FIEL_UNSUPPORTED;\n"))
        self.assertEqual((r.code, v["status"]), (1, "unsupported"), v["reason"])
        self.assertEqual(v["unsupported_by"], "kernel")

    def test_a_cache_that_cannot_be_written_costs_a_note_only(self):
        kernel = self.write("kernel.cu", HONEST)
        r = fiel("judge", self.task, kernel, "--json", "--budget", "quick",
                 env={"FIEL_CACHE": "/dev/null/cache"})
        self.assertEqual((r.code, r.json()["status"]), (0, "correct"), r.err)
        self.assertIn("/dev/null/cache", r.err)

    def test_a_full_disk_is_no_fault_of_the_kernel(self):
        mount, kernel = os.path.join(self.folder.name, "disk"), self.write("kernel.cu", HONEST)
        os.mkdir(mount)
        script = """mount -t tmpfs -o size=64m none "$1" || exit 77
            FIEL_CACHE="$1/cache" "$2" judge "$3" "$4" --json --no-store >/dev/null 2>&1 # its runtime is there now
            rm -rf "$1/cache/build" && head -c 65m /dev/zero >"$1/fill" 2>/dev/null; truncate -s -12k "$1/fill"
            FIEL_CACHE="$1/cache" exec "$2" judge "$3" "$4" --json --no-store"""
        p = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", mount, FIEL, self.task,
                            kernel], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
        if not p.stdout:
            self.skipTest("no file system of its own can be mounted here: " + p.stderr)
        v = json.loads(p.stdout)
        self.assertEqual((p.returncode, v["status"]), (3, "harness_fault"), v["reason"])
        self.assertRegex(v["reason"], "disk|No space")

    def test_a_kernel_behind_a_link_of_another_ending(self):
        target = self.write("kernel.txt", HONEST)
        link = os.path.join(self.folder.name, "kernel.cu")
        os.symlink(target, link)
        r = fiel("judge", self.task, link, "--json", "--budget", "quick")
        self.assertEqual((r.code, r.json()["status"]), (0, "correct"), r.out + r.err)

    def test_the_whole_judgement_has_a_time_limit(self):
        many = run_body().replace("  scale<<<", "  for (int k = 0; k < 200000; ++k) scale<<<")
        r, v = self.judge(HEAD + KERNEL + many, "--time-limit", "3")
        self.assertEqual((r.code, v["status"]), (3, "undecided"), v["reason"])

    def test_a_profiled_call_is_saved_with_its_tensors(self):
        kernel, folder = self.write("kernel.cu", HONEST), os.path.join(self.folder.name, "saved")
        shapes = [s.split("=")[0].strip() for s in ADD_TASK.split("[shapes]")[1].strip().splitlines()]
        r = fiel("profile", self.task, kernel, "--json", "--shapes", shapes[0], "--save-inputs", folder)
        self.assertEqual(r.code, 0, r.err)
        with open(os.path.join(folder, shapes[0], "call.txt"), encoding="utf-8") as f:
            lines = [line.split() for line in f]
        self.assertEqual([line[0] for line in lines], ["input", "output"])
        self.assertEqual(lines[0][-1], "0.bin")
        extents = [int(x) for x in lines[0][3:-1]]
        self.assertEqual(lines[0][1:3], ["f32", str(len(extents))])
        size = 4
        for extent in extents:
            size *= extent
        self.assertEqual(os.path.getsize(os.path.join(folder, shapes[0], "0.bin")), size)

    def test_goes_on_with_the_next_kernel(self):
        folder = os.path.join(self.folder.name, "kernels")
        os.mkdir(folder)
        for name, text in (("a.cu", "syntax error"), ("b.cu", HONEST), ("c.cu", HEAD + KERNEL)):
            self.write("kernels/" + name, text)
        r = fiel("judge", self.task, folder, "--json", "--budget", "quick")
        statuses = [v["status"] for v in r.json()["verdicts"]]
        self.assertEqual(statuses, ["compile_error", "correct", "compile_error"])
        self.assertEqual(r.code, 1)


MULTIPLY_ADD_TASK = """
name = "multiply_add"
description = "a product and a sum"
expression = "y = a * b + c"
[inputs]
a = { dtype = "f32", shape = ["N"] }
b = { dtype = "f32", shape = ["N"] }
c = { dtype = "f32", shape = ["N"] }
[outputs]
y = "f32"
[shapes]
small = { N = 300 }
"""
SUM_TASK = """
name = "column_sums"
description = "sums of the columns"
expression = "y = sum(x, dim=0)"
[inputs]
x = { dtype = "f32", shape = ["N", "C"] }
[outputs]
y = "f32"
[shapes]
small = { N = 40, C = 32 }
"""


class Notes(Case):
    """What is worth a word and decides nothing."""

    def notes_of(self, source, task=None):
        if task is not None:
            self.task = self.write("task.toml", task)
        r, v = self.judge(source)
        self.assertEqual((r.code, v["status"]), (0, "correct"), v["reason"])
        self.assertEqual({f["grade"] for f in v["findings"]} - {"INFO"}, set(), v["findings"])
        return {f["code"]: f for f in v["findings"]}

    def test_an_honest_kernel_has_none(self):
        self.assertEqual(self.notes_of(HONEST), {})

    def test_an_output_that_is_stored_twice(self):
        twice = KERNEL.replace("if (i < n)", "if (i < n) *(volatile float*)(y + i) = x[i];\n  if (i < n)")
        notes = self.notes_of(HEAD + twice + run_body())
        self.assertEqual(list(notes), ["output-written-twice"])
        self.assertIn("bytes were stored more than once", notes["output-written-twice"]["text"])

    def multiply_add(self, body):
        kernel = "__global__ void f(const float* a, const float* b, const float* c, float* y, int n) {\n" \
                 "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n" + body + "}\n"
        run = run_body().replace("scale<<<", "f<<<").replace(
            "fiel_data(const float, in[0])", ", ".join(f"fiel_data(const float, in[{i}])" for i in range(3)))
        return self.notes_of(HEAD + kernel + run, MULTIPLY_ADD_TASK)

    def test_an_output_that_contraction_changes(self):
        notes = self.multiply_add(
            '  float t;\n  asm("mul.f32 %0, %1, %2;" : "=f"(t) : "f"(a[i]), "f"(b[i]));\n'
            '  asm("add.f32 %0, %1, %2;" : "=f"(t) : "f"(t), "f"(c[i]));\n  y[i] = t;\n')
        self.assertEqual(list(notes), ["contraction-sensitive"])
        self.assertIn("with multiply and add fused", notes["contraction-sensitive"]["text"])

    def test_rounding_that_is_written_down_is_not_contracted(self):
        self.assertEqual(self.multiply_add("  y[i] = __fadd_rn(__fmul_rn(a[i], b[i]), c[i]);\n"), {})

    def test_sums_by_atomics_depend_on_the_order(self):
        kernel = """
__global__ void sums(const float* x, float* y, int columns) {
  atomicAdd(&y[threadIdx.x], x[blockIdx.x * columns + threadIdx.x]);
}
FIEL_KERNEL int fiel_run(const fiel_tensor* in, int, fiel_tensor* out, int, cudaStream_t stream) {
  int rows = (int)in[0].shape[0], columns = (int)in[0].shape[1];
  cudaMemsetAsync(out[0].data, 0, columns * sizeof(float), stream);
  sums<<<rows, columns, 0, stream>>>(fiel_data(const float, in[0]), fiel_data(float, out[0]), columns);
  return cudaGetLastError();
}
"""
        notes = self.notes_of(HEAD + kernel, SUM_TASK)
        # Atomics that add are no second stores.
        self.assertEqual(list(notes), ["schedule-dependent-output"])
        self.assertIn("under two orders", notes["schedule-dependent-output"]["text"])


class Hostile(Case):
    """Host code that means harm. Each gets a verdict, in bounded time, and the judge lives."""

    def hostile(self, before, endings, *flags, includes=""):
        """`endings`: the statuses that are right, each with words of its reason."""
        r, v = self.judge(HEAD + includes + KERNEL + run_body(before=before), *flags)
        self.assertIn(v["status"], endings, v["reason"])
        self.assertIn(endings[v["status"]], v["reason"])
        self.assertEqual(r.code, 0 if v["status"] == "correct" else 1, v["reason"])
        return v

    def test_loops_for_ever_on_the_host(self):
        self.hostile("  volatile int spin = 1; while (spin) {}\n",
                     {"timeout": "the host code was still running"}, "--timeout", "3")

    def test_loops_for_ever_on_the_device(self):
        source = HEAD + KERNEL.replace("if (i < n)", "while (x[0] == x[0]) {} if (i < n)")
        r, v = self.judge(source + run_body(), "--timeout", "4")
        self.assertEqual((r.code, v["status"]), (1, "timeout"), v["reason"])

    def test_allocates_without_end(self):
        # Without `volatile` the compiler leaves memory that nobody reads out of the program.
        self.hostile("  for (;;) { volatile char* p = (char*)malloc(64 << 20); if (!p) abort();"
                     " for (size_t i = 0; i < 64 << 20; i += 4096) p[i] = 1; }\n",
                     {"runtime_error": "memory limit of "}, "--timeout", "60",
                     includes="#include <cstdlib>\n")

    def test_forks_without_end(self):
        # The limit refuses a process, and those that there are wait; or it ends them all.
        self.hostile("  for (;;) if (fork() < 0) break;\n  for (;;) pause();\n",
                     {"timeout": "no answer in time", "runtime_error": "processes"}, "--timeout", "5",
                     includes="#include <unistd.h>\n")

    def test_crashes(self):
        self.hostile("  *(volatile int*)8 = 1;\n", {"runtime_error": "signal 11"})

    def test_kills_its_parent(self):
        # None of them is within its reach; what it can end is itself.
        self.hostile("  kill(getppid(), 9); kill(-1, 9);\n", {"correct": "", "runtime_error": "its process died"},
                     includes="#include <signal.h>\n#include <unistd.h>\n")

    def test_writes_to_the_file_system(self):
        target = os.path.join(self.folder.name, "planted")
        self.hostile('  if (FILE* f = fopen("%s", "w")) { fputs("x", f); fclose(f); }\n' % target,
                     {"correct": ""}, includes="#include <cstdio>\n")
        isolated = fiel("doctor", "--json").json()
        by_id = {i["id"]: i["state"] for i in isolated["items"]}
        if by_id.get("sandbox-user") == "ok":
            self.assertFalse(os.path.exists(target))

    def test_closes_descriptors(self):
        self.hostile("  for (int fd = 0; fd < 64; ++fd) close(fd);\n", {"runtime_error": "its process died"},
                     includes="#include <unistd.h>\n")

    def test_prints_megabytes(self):
        v = self.hostile("  for (int i = 0; i < 20000; ++i) puts(\"0123456789012345678901234567"
                         "8901234567890123456789\"); fflush(stdout);\n", {"correct": ""}, "--shapes", "small",
                         includes="#include <cstdio>\n")
        self.assertLess(len(v["candidate_output"]), 20_000)

    def test_exits_with_0(self):
        self.hostile("  _exit(0);\n", {"runtime_error": "ended itself with exit code 0"},
                     includes="#include <unistd.h>\n")


def has_children(pid):
    """Whether a process has started others that are still there."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as f:
                state, parent = f.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            return True
    return False


class Interrupted(Case):
    """A judgement of two kernels, ended in the middle of the second."""

    def setUp(self):
        super().setUp()
        many = run_body().replace("  scale<<<", "  for (int k = 0; k < 200000; ++k) scale<<<")
        self.write("a.cu", HONEST)
        self.write("b.cu", HEAD + KERNEL + many)
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.name = "interrupted-" + self.folder.name[-6:]
        self.begin = ["judge", self.task, self.folder.name, "--budget", "quick", "--run", self.name,
                      "--timeout", "600"]

    def kept(self):
        r = fiel("runs", "--json")
        return next((run for run in r.json()["runs"] if run["name"] == self.name), None) if r.code == 0 else None

    def end(self, words, number):
        """Sends the signal once the first kernel is kept and the second runs; what the program said."""
        env = {**os.environ, "NO_COLOR": "1", "FIEL_STORE": STORE.name, "TMPDIR": self.scratch.name}
        p = subprocess.Popen([FIEL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             stdin=subprocess.DEVNULL, env=env)
        deadline = time.monotonic() + 600
        while not ((run := self.kept()) and run["verdicts"] == 1 and has_children(p.pid)):
            self.assertIsNone(p.poll(), "it ended by itself")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        p.send_signal(number)
        out, err = p.communicate(timeout=120)
        return p.returncode, out + err

    def test_a_signal_is_130_and_leaves_the_first_verdict_and_nothing_else(self):
        words = self.begin
        for number in (signal.SIGINT, signal.SIGTERM):
            code, said = self.end(words, number)
            self.assertEqual(code, 130, said)
            self.assertIn("go on with: fiel judge --resume " + self.name, said)
            self.assertEqual((self.kept()["state"], self.kept()["verdicts"]), ("stopped", 1))
            self.assertEqual(os.listdir(self.scratch.name), [])
            words = ["judge", "--resume", self.name]

    def test_killed_in_the_middle_it_goes_on_from_there(self):
        code, _ = self.end(self.begin, signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)
        self.write("b.cu", "no kernel any more")
        r = fiel("judge", "--resume", self.name, "--json")
        verdicts = self.checked(r)["verdicts"]
        self.assertEqual([v["status"] for v in verdicts], ["correct", "compile_error"])
        self.assertEqual([v["reward"] for v in verdicts], [1, -1])
        self.assertEqual(os.listdir(self.scratch.name), [])


PTX = """.version 8.7
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<6>; .reg .f32 %f<9>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r2, 128, %r3;
  setp.ge.s32 %p1, %r4, %r1;
  @%p1 ret;
  mul.wide.s32 %rd3, %r4, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
  // here
  ld.global.f32 %f1, [%rd1];
  fma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;
  st.global.f32 [%rd2], %f2;
  ret;
}
"""
PLAN = """source = "scale.ptx"
[symbols]
N = "in0.shape[0]"
[[launch]]
kernel = "scale"
grid = ["ceil_div(N, 128)"]
block = [128]
args = ["in0", "out0", "i32:N"]
"""


class Plans(Case):
    """PTX with a launch plan: no compiler, and what the device cannot read is never `incorrect`."""

    def judge_ptx(self, ptx, plan=PLAN):
        self.write("scale.ptx", ptx)
        kernel = self.write("scale.plan.toml", plan)
        r = fiel("judge", self.task, kernel, "--json", "--budget", "quick", "--seed", "7")
        self.assertTrue(r.out, r.err)
        return r, r.json()

    def test_a_good_plan_is_correct(self):
        r, v = self.judge_ptx(PTX)
        self.assertEqual((r.code, v["status"]), (0, "correct"), v["reason"])

    def test_what_is_not_supported_or_no_ptx_is_named_with_its_line(self):
        line = "PTX line %d" % (PTX[:PTX.index("  // here")].count("\n") + 1)
        for text, outside, words in (
                ("tex.1d.v4.f32.s32 {%f5,%f6,%f7,%f8}, [t, {%r1}];", ".global .texref t;",
                 ["texref"]),
                ("frob.v2.u32 {%r5,%r6}, [%rd1];", "", [line, "frob"]),
                ("", ".local .align 4 .b32 scratch[4];", ["PTX line 4", ".local"])):
            ptx = PTX.replace("// here", text)
            if outside:
                ptx = ptx.replace(".visible", outside + "\n.visible")
                words = words + ["PTX line 4"]
            r, v = self.judge_ptx(ptx)
            self.assertEqual((r.code, v["status"]), (3, "unsupported"), (text, v["reason"]))
            for word in words:
                self.assertIn(word, v["reason"], text)
            self.assertEqual(v["reason"].count("PTX line"), 1, v["reason"])

    def test_ldu_is_a_load_or_named(self):
        r, v = self.judge_ptx(PTX.replace("// here", "ldu.global.u32 %r5, [%rd1];"))
        if r.code != 0:
            self.assertEqual((r.code, v["status"]), (3, "unsupported"), v["reason"])
            self.assertIn("ldu", v["reason"])

    def test_an_argument_too_many_says_how_many_are_expected(self):
        ptx = PTX[:PTX.index("(.param")] + "\n{\n  ret;\n}\n"
        r, v = self.judge_ptx(ptx, PLAN.replace(', "out0", "i32:N"', ""))
        self.assertEqual((r.code, v["status"]), (1, "runtime_error"), v["reason"])
        self.assertIn("takes 0 arguments", v["reason"])


# By kernel or task: the statuses that no other test of this file brings about. timing_invalid and policy_violation
# need a GPU's clock.
ENDS = {
    "incorrect": HONEST.replace("2.f * x", "3.f * x"),
    "runtime_error": HONEST.replace("if (i < n) ", ""),
    "tampering": HEAD + "#include <unistd.h>\n" + KERNEL + run_body(
        before="  for (int fd = 3; fd < 64; ++fd) (void)!write(fd, \"garbage, garbage, garbage, garbage\", 35);\n"),
}
VOID_TASK = ADD_TASK.replace("2 * x + 1", "x * 0")


class Schema(Case):
    """Every document that self.judge() sees is held against the schema; here, the ones it does not see elsewhere."""

    def test_what_ends_a_judgement(self):
        for status, source in ENDS.items():
            _, v = self.judge(source)
            self.assertEqual(v["status"], status, v["reason"])
            self.assertEqual(v["reward"], -1, status)

    def test_a_void_task(self):
        self.task = self.write("void.toml", VOID_TASK)
        r, v = self.judge(HONEST)
        self.assertEqual((r.code, v["status"], v["reward"]), (5, "task_void", None), v["reason"])

    def test_a_fault_of_the_machine(self):
        r, v = self.judge(HONEST, "--require-isolation", env={"FIEL_NO_NAMESPACES": "1"})
        self.assertEqual((r.code, v["status"], v["reward"]), (3, "harness_fault", None), v["reason"])

    def test_verdicts_on_several_kernels(self):
        self.write("a.cu", HONEST)
        self.write("b.cu", "no")
        r = fiel("judge", self.task, self.folder.name, "--json", "--budget", "quick")
        verdicts = self.checked(r)["verdicts"]
        self.assertEqual([v["status"] for v in verdicts], ["correct", "compile_error"])

    def test_the_schema_refuses_what_is_no_verdict(self):
        _, v = self.judge("no")
        for wrong in ({**v, "status": "wrong"}, {**v, "more": 1}, {k: v[k] for k in v if k != "reason"},
                      {"schema_version": 1, "run": "", "summary": {}, "verdicts": [v]}):
            self.assertNotEqual(schema.complaints(wrong), [])


MEMO = HEAD + KERNEL + """
static float kept[1 << 20];
static bool known = false;
""" + run_body().replace(
    "  scale<<<", "  if (known) { cudaMemcpyAsync(out[0].data, kept, n * 4, cudaMemcpyHostToDevice, stream);"
    " return 0; }\n  scale<<<").replace(
    "  return cudaGetLastError", "  cudaMemcpyAsync(kept, out[0].data, n * 4, cudaMemcpyDeviceToHost,"
    " stream);\n  cudaStreamSynchronize(stream);\n  known = true;\n  return cudaGetLastError")


class Protocols(Case):
    """Other evaluators' rules, on the virtual device."""

    def compare(self, *words):
        r = fiel("compare", *words, "--json", "--budget", "quick", "--seed", "7", cwd=SOURCE)
        self.assertTrue(r.out, r.err)
        return r, {row["protocol"]: row for row in r.json()["protocols"]}

    def test_three_cheats_pass_naive_and_fail_strict(self):
        for kernel in ("softmax/memoised_output", "softmax/shape_specific",
                       "matmul_bias_relu/fp16_accumulation"):
            operation = kernel.split("/")[0]
            r, rows = self.compare(f"tasks/{operation}.toml", f"examples/{kernel}.cu")
            self.assertEqual(r.code, 1, kernel)
            self.assertFalse(rows["strict"]["accepted"], kernel)
            self.assertTrue(rows["naive"]["accepted"], (kernel, rows["naive"]["reason"]))
            self.assertEqual(rows["naive"]["beside_strict"], "fooled", kernel)
            trials = rows["naive"]["verdict"]["opinion"]["trials"]
            self.assertEqual([t["passed"] for t in trials], [True] * 10, kernel)

    def test_a_memoised_answer_survives_the_repetitions_of_naive_alone(self):
        _, rows = self.compare("tasks/softmax.toml", "examples/softmax/memoised_output.cu")
        self.assertEqual([p for p in rows if rows[p]["accepted"]], ["naive"])
        self.assertEqual(rows["naive"]["by"], "stale-output")

    def test_a_verdict_of_another_protocol_says_so_and_follows_the_schema(self):
        kernel = self.write("kernel.cu", MEMO)
        r = fiel("judge", self.task, kernel, "--protocol", "naive", "--no-store")
        self.assertEqual(r.code, 0, r.err)
        self.assertTrue(r.out.startswith("CORRECT by naive"), r.out)
        self.assertIn("opinion of naive, not ours", r.out)
        r = fiel("judge", self.task, kernel, "--protocol", "nave")
        self.assertEqual(r.code, 2)
        self.assertIn("did you mean 'naive'", r.err)


class Redteam(Case):
    """fiel redteam and fiel replay over a folder of two cases."""

    def setUp(self):
        super().setUp()
        self.case("exploits/M05_memo", MEMO, 'caught_by = ["stale-output"]\n[status]\n'
                  'virtual = ["incorrect"]\n[fooled]\nnaive = "yes"\nkernelbench = "no"\n')
        self.case("honest/M05_plain", HONEST, 'status = ["correct"]\n')

    def case(self, folder, kernel, expect):
        os.makedirs(os.path.join(self.folder.name, folder), exist_ok=True)
        self.write(folder + "/kernel.cu", kernel)
        self.write(folder + "/expect.toml", 'id = "M05"\ntitle = "a case"\ntask = "../../scale.toml"\n'
                   'kernel = "kernel.cu"\ndevices = ["virtual"]\nneeds = []\n' + expect)

    def redteam(self, *words):
        return fiel("redteam", "--json", "--budget", "quick", "--seed", "7", *words,
                    cwd=self.folder.name)

    def test_rates_expectations_and_resuming(self):
        r = self.redteam("--protocol", "strict,naive", "--run", "team-" + self.folder.name[-6:])
        self.assertEqual(r.code, 0, r.out + r.err)
        rates = r.json()["rates"]
        self.assertEqual(rates["naive"]["let_through"]["count"], 1)
        self.assertEqual(rates["strict"]["let_through"]["count"], 0)
        self.assertEqual(rates["strict"]["rejected"]["of"], 1)
        self.assertGreater(rates["strict"]["let_through"]["high"], 0.7)
        self.case("exploits/M05_memo", MEMO, '[status]\nvirtual = ["incorrect"]\n[fooled]\nnaive = "no"\n')
        again = self.redteam("--resume", "team-" + self.folder.name[-6:], "--markdown", "table.md")
        self.assertEqual(again.code, 1, again.err)
        self.assertEqual([c["held"] for c in again.json()["cells"]], [True, False, True, True])
        with open(os.path.join(self.folder.name, "table.md"), encoding="utf-8") as f:
            self.assertIn("| exploits/M05_memo | a case | virtual | caught | FOOLED ! |", f.read())

    def test_words_of_redteam(self):
        self.assertEqual(self.redteam("--only", "nothing*").code, 5)
        self.assertEqual(self.redteam("--protocol", "lenient").code, 2)
        r = fiel("redteam", "--add", "exploits/N99_new", cwd=self.folder.name)
        self.assertEqual(r.code, 0, r.err)
        self.assertTrue(os.path.exists(os.path.join(self.folder.name, "exploits/N99_new/expect.toml")))
        self.scaffolds_run()
        self.write("exploits/N99_new/expect.toml", "id = 3\n")
        r = self.redteam()
        self.assertEqual(r.code, 2)
        self.assertIn("exploits/N99_new/expect.toml:1", r.err)

    def scaffolds_run(self):
        """As they were written: a kernel that refuses, which is neither the cheat nor the kernel that was meant."""
        self.assertEqual(fiel("redteam", "--add", "honest/M02_new", cwd=self.folder.name).code, 0)
        os.symlink(os.path.join(SOURCE, "tasks"), os.path.join(self.folder.name, "tasks"))
        r = self.redteam("--only", "*_new", "--protocol", "strict")
        self.assertEqual(r.code, 1, r.err)
        self.assertEqual([(c["case"], c["status"], c["held"]) for c in r.json()["cells"]],
                         [("exploits/N99_new", "unsupported", False), ("honest/M02_new", "unsupported", False)])
        # Filled in, they are cases like any other.
        with open(os.path.join(SOURCE, "examples/softmax/online.cu"), encoding="utf-8") as file:
            right = file.read()
        self.write("honest/M02_new/kernel.cu", right)
        r = self.redteam("--only", "honest/M02_new", "--protocol", "strict")
        self.assertEqual(r.code, 0, r.out + r.err)

    def test_a_witness_is_replayed_alone_or_with_the_calls_before_it(self):
        wrong = HONEST.replace("2.f * x", "3.f * x")
        for source, alone in ((wrong, True), (MEMO, False)):
            kernel = self.write("kernel.cu", source)
            name = f"replay-{self.folder.name[-6:]}-{alone}"
            r = fiel("judge", self.task, kernel, "--budget", "quick", "--run", name)
            self.assertEqual(r.code, 1, r.err)
            self.write("kernel.cu", "// changed since")
            again = fiel("replay", name, "--json")
            self.assertEqual(again.code, 0, again.out + again.err)
            j = again.json()
            self.assertEqual((j["alone"], j["same"], j["reproduced"]), (alone, True, True), source)
            self.assertEqual(j["then"]["got"], j["again"]["witness"]["got"])
        kernel = self.write("kernel.cu", HONEST)
        fiel("judge", self.task, kernel, "--budget", "quick", "--run", name + "-right")
        self.assertEqual(fiel("replay", name + "-right").code, 5)
        self.assertEqual(fiel("replay", name, "9").code, 2)


class Mutants(Case):
    """fiel mutate: a small study, killed and gone on with."""

    def setUp(self):
        super().setUp()
        self.kernel = self.write("kernel.cu", HONEST)
        self.out = os.path.join(self.folder.name, "study.jsonl")
        self.words = ["mutate", self.task, self.kernel, "--per-kernel", "6", "--draws", "1",
                      "--search-shapes", "4", "--json"]

    def lines(self):
        """Those that are whole: a study that is running, or was killed, may be in the midst of one."""
        with open(self.out, encoding="utf-8") as f:
            return [json.loads(line) for line in f.read().split("\n")[:-1]]

    def test_a_killed_study_goes_on(self):
        begun = subprocess.Popen([FIEL, *self.words, "--out", self.out], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        while begun.poll() is None and (not os.path.exists(self.out) or len(self.lines()) < 4):
            time.sleep(0.05)
        begun.kill()
        begun.wait()
        with open(self.out, "a", encoding="utf-8") as f:
            f.write('{"line": "mutant", "torn')
        r = fiel(*self.words, "--out", self.out)
        self.assertEqual(r.code, 0, r.err)
        j = r.json()
        self.assertTrue(j["complete"])
        self.assertEqual(j["all"]["made"], 6)
        self.assertGreater(j["all"]["witnessed"], 2)
        self.assertEqual(j["all"]["missed"]["strict"]["count"], 0)
        mutants = [line for line in self.lines() if line["line"] == "mutant"]
        places = {(*m["span"], m["replacement"]) for m in mutants}
        self.assertEqual((len(mutants), len(places)), (6, 6))
        again = fiel(*self.words, "--out", self.out)
        self.assertEqual(again.json(), j)
        other = fiel(*self.words, "--seed", "9", "--out", self.out)
        self.assertEqual(other.code, 2)
        self.assertIn("another study", other.err)

    def test_a_study_stops_when_its_time_is_up(self):
        r = fiel(*self.words, "--stop-after", "1", "--per-kernel", "1000")
        self.assertEqual(r.code, 0, r.err)
        self.assertFalse(r.json()["complete"])

    def test_a_wrong_kernel_is_no_subject(self):
        self.write("kernel.cu", HONEST.replace("2.f * x", "3.f * x"))
        r = fiel(*self.words)
        self.assertEqual(r.code, 5, r.err)
        self.assertIn("strict calls it incorrect", r.err)

    def test_words_of_mutate(self):
        r = fiel("mutate", self.task, self.kernel, "--list", "--kinds", "bounds,constant")
        self.assertEqual(r.code, 0, r.err)
        self.assertIn("bounds: off by one  < -> <=", r.out)
        self.assertNotIn("index:", r.out)
        self.assertEqual(fiel("mutate", self.task).code, 2)
        self.assertEqual(fiel("mutate", self.task, self.kernel, "--kinds", "bound").code, 2)
        self.assertEqual(fiel("mutate", self.task, self.task).code, 2)


TORCH_TASK = """import torch

class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(features)

    def forward(self, x, y):
        return torch.relu(self.norm(x) + y)

def get_inputs():
    return [torch.randn(5, 7), torch.randn(5, 7).abs()]

def get_init_inputs():
    return [7]
"""


class Init(Case):
    def test_a_native_task_on_stdout(self):
        r = fiel("init", self.task)
        self.assertEqual(r.code, 0, r.err)
        for text in ("inputs[0]  x: f32 [300]", "outputs[0]  y: f32 [300]", "fiel_run", "n_inputs != 1"):
            self.assertIn(text, r.out)

    def test_a_file_is_not_overwritten_unless_asked(self):
        kernel = os.path.join(self.folder.name, "k.py")
        self.assertEqual(fiel("init", self.task, kernel).code, 0)
        with open(kernel, encoding="utf-8") as f:
            text = f.read()
        compile(text, kernel, "exec")
        self.assertIn("class ModelNew", text)
        self.assertEqual(fiel("init", self.task, kernel).code, 2)
        self.assertEqual(fiel("init", self.task, kernel, "--force").code, 0)

    def test_only_files_are_replaced_and_links_stay(self):
        pipe, link, file = (os.path.join(self.folder.name, name) for name in ("pipe", "link.cu", "file.cu"))
        os.mkfifo(pipe)
        r = fiel("init", self.task, pipe, "--force", timeout=120)
        self.assertEqual(r.code, 2, "nobody reads it")
        with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as reader:
            self.assertEqual(fiel("init", self.task, pipe, "--force", timeout=120).code, 0)
            self.assertIn("fiel_run", reader.read())
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.write("file.cu", "before")
        os.symlink("file.cu", link)
        self.assertEqual(fiel("init", self.task, link, "--force").code, 0)
        self.assertTrue(os.path.islink(link))
        with open(file, encoding="utf-8") as f:
            self.assertIn("fiel_run", f.read())
        self.assertEqual(fiel("init", self.task, self.folder.name, "--force").code, 2)

    def test_what_is_no_task_is_a_usage_error(self):
        kernel = self.write("kernel.py", "class ModelNew: pass\n")
        r = fiel("init", kernel)
        self.assertEqual(r.code, 2)
        self.assertIn("it is a kernel", r.err)
        self.assertEqual(fiel("init").code, 2)
        self.assertEqual(fiel("init", self.task, "--kind", "cuda").code, 2)

    def test_without_pytorch_the_remedy_is_a_command(self):
        task = self.write("task.py", TORCH_TASK)
        r = fiel("init", task, "--python", "/no/such/python")
        self.assertEqual(r.code, 2)
        self.assertIn("pip install torch", r.err)

    def test_a_pytorch_task_names_arguments_then_parameters_and_buffers(self):
        item = next(i for i in fiel("doctor", "--json").json()["items"] if i["id"] == "pytorch")
        if item["state"] != "ok":
            self.skipTest(item["found"])
        r = fiel("init", self.write("task.py", TORCH_TASK))
        self.assertEqual(r.code, 0, r.err)
        lines = [line for line in r.out.splitlines() if "inputs[" in line and line.startswith("//")]
        self.assertIn(": f32 [5, 7], argument of forward", lines[0])
        self.assertIn(": f32 [5, 7], argument of forward", lines[1])
        for name, kind in (("norm.weight: f32 [7]", "parameter"), ("norm.running_var: f32 [7]", "buffer"),
                           ("norm.num_batches_tracked: i64 []", "buffer")):
            self.assertTrue(any(name in line and line.endswith(kind) for line in lines[2:]), (name, r.out))


class Reports(Case):
    """A compile error full of what breaks formats, under a name that breaks annotations."""

    def setUp(self):
        super().setUp()
        self.env = {"FIEL_STORE": os.path.join(self.folder.name, "store")}
        self.hostile = os.path.join(self.folder.name, "a,b:c%.cu")
        with open(self.hostile, "wb") as f:
            f.write(b"#error \x1b[31mred ]]> \xef\xbf\xbe \xed\xa0\x80 \x00 </failure> " + b"x" * (2 << 20) + b"\n")
        self.honest = self.write("honest.cu", HONEST)

    def fiel(self, *words):
        return fiel(*words, env=self.env)

    def test_a_hostile_compile_error_is_a_well_formed_failure(self):
        junit = os.path.join(self.folder.name, "junit.xml")
        r = self.fiel("judge", self.task, self.hostile, self.honest, "--run", "r", "--export", "junit=" + junit)
        self.assertEqual(r.code, 1, r.err)
        root = ElementTree.parse(junit).getroot()
        self.assertEqual([root.get(k) for k in ("tests", "failures", "errors")], ["2", "1", "0"])
        failed = [c for c in root.iter("testcase") if c.find("failure") is not None]
        self.assertTrue(failed[0].get("name").endswith("a,b:c%.cu"))
        self.assertEqual(failed[0].find("failure").get("type"), "compile_error")
        self.assertLess(os.path.getsize(junit), 1 << 20)
        for name in ("sarif", "github", "markdown", "csv", "json", "kernelbench"):
            self.assertEqual(self.fiel("export", "r", "--format", name).code, 0)
        page = os.path.join(self.folder.name, "page.html")
        self.assertEqual(self.fiel("report", "last", "--only", "a,b:c%.cu", "--html", page).code, 0)
        with open(page, encoding="utf-8") as f:
            self.assertNotIn("</failure>", f.read())

    def test_runs_reports_and_exports_answer_unknown_names(self):
        self.assertEqual(self.fiel("runs").code, 2)
        self.assertEqual(self.fiel("judge", self.task, self.honest, "--run", "first").code, 0)
        self.assertEqual(self.fiel("runs", "--json", "--check").json()["runs"][0]["name"], "first")
        self.assertIn("did you mean 'first'", self.fiel("report", "fisrt").err)
        self.assertIn("did you mean 'junit'", self.fiel("export", "first", "--format", "junti").err)
        self.assertEqual(self.fiel("report", "first", "--only", "none.cu").code, 2)
        self.assertIn("1 of 1 kernels accepted", self.fiel("report", "first").out)


class Profile(Case):
    """What ptxas says reaches the words and the JSON of `fiel profile`."""

    def profile(self, source, *flags):
        kernel = self.write("kernel.cu", source)
        r = fiel("profile", self.task, kernel, *flags)
        self.assertEqual(r.code, 0, r.err)
        return r

    def launch(self, source):
        profile = self.profile(source, "--json").json()["profiles"][0]
        self.assertEqual((profile["level"], len(profile["launches"])), ("ptx", 1))
        return profile, profile["launches"][0]

    def test_registers_and_resident_warps_are_those_of_ptxas(self):
        profile, launch = self.launch(HONEST)
        self.assertTrue(4 <= launch["registers"] <= 32, launch["registers"])
        self.assertEqual(launch["spill_bytes"], 0)
        # 16 blocks of 128 threads are all 2,048 threads of a multiprocessor.
        self.assertEqual((launch["resident_warps"], launch["occupancy_limited_by"]), (64, "threads"))
        self.assertEqual((launch["grid"], launch["block"]), ([3, 1, 1], [128, 1, 1]))
        self.assertEqual([c["code"] for c in profile["causes"]], ["small-grid"])
        text = self.profile(HONEST).out
        self.assertIn("PTX-level", text)
        self.assertIn(f"{launch['registers']} a thread; spills: 0 B stored, 0 B loaded (ptxas)", text)
        self.assertIn("64 of 64 warps", text)
        self.assertIn("small-grid", text)
        self.assertIn("3 blocks for 132 multiprocessors", text)
        self.assertNotIn("spilled", text)

    def test_a_kernel_out_of_registers_spills_and_says_so(self):
        # A hundred values live at once, and 64 registers a thread for 1,024 threads a block.
        body = """
__global__ void __launch_bounds__(1024, 1) scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const volatile float* v = x;
  float kept[100];
#pragma unroll
  for (int k = 0; k < 100; ++k) kept[k] = v[(i + k) % n];
  __threadfence();
  float least = 0;
#pragma unroll
  for (int k = 99; k >= 0; --k) least = fminf(kept[k], least) * 0.f;
  y[i] = 2.f * kept[0] + 1.f + least;
}
"""
        profile, launch = self.launch(HEAD + body + run_body())
        self.assertEqual(launch["registers"], 64)
        self.assertGreater(launch["spill_bytes"], 0)
        self.assertEqual((launch["resident_warps"], launch["occupancy_limited_by"]), (32, "registers"))
        spilled = next(c for c in profile["causes"] if c["code"] == "local-memory")
        self.assertIn(f"{launch['spill_bytes']} B a thread spilled by ptxas", spilled["text"])
        self.assertIn("spilled by ptxas", self.profile(HEAD + body + run_body()).out)


class Doctor(Case):
    def doctor(self, **env):
        r = fiel("doctor", "--json", env=env)
        items = r.json()["items"]
        self.assertIn(r.code, (0, 3))
        self.assertEqual(r.code == 0, r.json()["can_judge_on_virtual_device"])
        self.assertEqual(len(items), len({item["id"] for item in items}))
        for item in items:  # what is missing has a price and a way out, what is there has neither
            self.assertTrue(item["found"], item)
            self.assertEqual(bool(item["cost"]), item["state"] != "ok", item)
            self.assertEqual(bool(item["remedy"]), item["state"] != "ok", item)
        return r, {item["id"]: item for item in items}

    def test_says_what_is_missing_what_it_costs_and_what_brings_it(self):
        _, items = self.doctor()
        for known in ("compiler", "gpu", "nvml", "gpu-libraries", "pytorch", "sandbox", "cache", "memory"):
            self.assertIn(known, items)
        text = fiel("doctor").out
        for item in items.values():
            self.assertIn(item["title"], text)
            self.assertTrue(item["state"] == "ok" or "helps: " + item["remedy"] in text, item)

    def test_each_missing_thing_is_named_with_its_command(self):
        nowhere, empty = (os.path.join(self.folder.name, name) for name in ("none", "empty"))
        file = self.write("file", "")
        for known, command, env in (
                ("compiler", "-m venv", {"FIEL_HIDE_CUDA": "1", "FIEL_CACHE": empty, "FIEL_CUDA_WHEELS": ""}),
                ("sandbox", "apt-get install bubblewrap", {"FIEL_BWRAP": nowhere}),
                ("sandbox", "apt-get install bubblewrap", {"FIEL_BWRAP": self.folder.name}),  # no program
                ("pytorch", "pip install torch", {"FIEL_PYTHON": nowhere}),
                ("cache", "export FIEL_CACHE=", {"FIEL_CACHE": os.path.join(file, "cache")}),
                ("gpu", "", {"CUDA_VISIBLE_DEVICES": ""})):
            r, items = self.doctor(**env)
            self.assertEqual(items[known]["state"], "missing", items[known])
            self.assertIn(command, items[known]["remedy"])
            self.assertEqual(r.code == 3, known == "compiler", "all but the compiler can be done without")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
