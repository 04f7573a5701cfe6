#!/usr/bin/env python3
"""Workspaces and agents through the binary, offline.

usage: black_box.py FIEL SOURCE_DIR [TestClass[.test_name]]
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FIEL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
TASK = str(SOURCE / "tasks/softmax.toml")
RIGHT = (SOURCE / "examples/softmax/simple.cu").read_text()
WRONG = (SOURCE / "examples/softmax/missing_tail.cu").read_text()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.work = self.folder / "work"

    def run_words(self, *words, code=0, env=None, timeout=300):
        full = {**os.environ, "NO_COLOR": "1", "FIEL_STORE": str(self.folder / "store"), **(env or {})}
        p = subprocess.run(words, capture_output=True, text=True, timeout=timeout, env=full, stdin=subprocess.DEVNULL)
        if code is not None:
            self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return p

    def fiel(self, *words, **more):
        return self.run_words(FIEL, *words, **more)


class Workspaces(Case):
    def setUp(self):
        super().setUp()
        self.fiel("init", TASK, "--workspace", str(self.work))

    def start_daemon(self, *words):
        daemon = subprocess.Popen([FIEL, "daemon", str(self.work), *words], stderr=subprocess.PIPE, text=True)
        self.addCleanup(daemon.stderr.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.send_signal, signal.SIGINT)
        for _ in range(600):
            if (self.folder / ".work.fiel/judge.sock").exists():
                return
            time.sleep(0.05)
        self.fail("no socket")

    def test_the_skeleton_compiles_and_is_not_yet_right(self):
        self.start_daemon()
        self.assertIn("compiled", self.run_words(str(self.work / "bin/compile")).stdout)
        self.run_words(str(self.work / "bin/verify"), code=1)

    def test_a_kernel_goes_from_error_to_submission(self):
        self.start_daemon()
        kernel = self.work / "kernel.cu"
        kernel.write_text("#include <fiel/kernel.h>\nint broken = ;\n")
        out = self.run_words(str(self.work / "bin/compile"), code=1).stdout
        self.assertRegex(out, r"error: expected an expression")
        kernel.write_text(WRONG)
        out = self.run_words(str(self.work / "bin/verify"), code=1).stdout
        self.assertIn("verdict: incorrect", out)
        kernel.write_text(RIGHT)
        self.assertIn("verdict: correct", self.run_words(str(self.work / "bin/verify")).stdout)
        self.assertIn("registers", self.run_words(str(self.work / "bin/compile")).stdout)
        self.assertTrue(self.run_words(str(self.work / "bin/profile")).stdout)
        self.run_words(str(self.work / "bin/submit"))
        ledger = [json.loads(line) for line in (self.folder / ".work.fiel/ledger.jsonl").read_text().splitlines()]
        self.assertEqual([(e["verb"], e["status"]) for e in ledger],
                         [("verify", "incorrect"), ("verify", "correct"), ("submit", "correct")])

    def test_the_budget_of_judged_kernels_ends(self):
        self.start_daemon("--kernels", "1")
        (self.work / "kernel.cu").write_text(RIGHT)
        self.run_words(str(self.work / "bin/verify"))
        self.assertIn("no judgements are left", self.run_words(str(self.work / "bin/verify"), code=1).stdout)

    def test_without_a_judge_the_commands_say_so(self):
        out = self.run_words(str(self.work / "bin/verify"), code=3)
        self.assertIn("fiel daemon", out.stderr)


class Words(Case):
    def test_misuse_is_named(self):
        for words in (["init", str(self.folder), "--workspace", str(self.work)], ["daemon", str(self.folder)],
                      ["ask", str(self.folder), "verify"], ["ask", str(self.folder), "win"],
                      ["init", TASK, "--workspace", str(self.work), "--layout", "cuda-agent"]):
            self.assertIn("error:", self.fiel(*words, code=2).stderr, words)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
