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
        self.assertIn("a hidden shape fails", out)
        self.assertRegex(out, r"worst element: y\[|left part of output 'y' unwritten")
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


def turn(text, *calls, usage=(10, 5)):
    return {"text": text, "calls": [{"name": n, "arguments": a} for n, a in calls],
            "usage": {"input_tokens": usage[0], "output_tokens": usage[1]}}


def write(source):
    return ("write", {"path": "kernel.cu", "text": source})


class Agents(Case):
    def script(self, *turns):
        path = self.folder / "script.jsonl"
        path.write_text("".join(json.dumps(t) + "\n" for t in turns))
        return str(path)

    def agent(self, *words, code=0, **more):
        out = self.fiel("agent", TASK, "--workspace", str(self.work), "--json", *words, code=code, **more).stdout
        return json.loads(out)

    def test_a_scripted_proposer_goes_from_wrong_to_submitted(self):
        script = self.script(turn("first", write(WRONG), ("verify", {"note": "no tail"})),
                             turn("better", write(RIGHT), ("compile", {}), ("verify", {"note": "with a tail"})),
                             turn("good", ("submit", {})))
        atif = self.folder / "atif.json"
        r = self.agent("--script", script, "--atif", str(atif), "--prices", "3,15")
        self.assertEqual((r["exit_status"], r["turns"]), ("submitted", 3))
        self.assertEqual(r["scored"]["status"], "correct")
        self.assertEqual(r["best_judged_again"]["status"], "correct")
        self.assertAlmostEqual(r["cost"]["cost"], (30 * 3 + 15 * 15) / 1e6)
        self.assertEqual(len(json.loads(atif.read_text())["steps"]), 4)
        ledger = (self.folder / ".work.fiel/ledger.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["note"] for line in ledger], ["no tail", "with a tail", ""])

    def test_a_wrong_submission_is_scored_though_a_right_one_came_before(self):
        script = self.script(turn("", write(RIGHT), ("verify", {})), turn("", write(WRONG), ("submit", {})))
        r = self.agent("--script", script, code=1)
        self.assertEqual((r["scored"]["status"], r["best"]["status"]), ("incorrect", "correct"))

    def test_a_run_without_any_judged_kernel_has_nothing_to_score(self):
        r = self.agent("--script", self.script(turn("I will not.")), code=5)
        self.assertEqual((r["exit_status"], r["scored"]), ("final_answer", None))

    def test_a_killed_run_is_resumed(self):
        slow = turn("", ("shell", {"command": "touch begun; sleep 60"}))
        script = self.script(turn("", write(RIGHT)), slow, turn("", ("submit", {})))
        words = [FIEL, "agent", TASK, "--workspace", str(self.work), "--script", script]
        first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            if (self.work / "begun").exists():
                break
            time.sleep(0.05)
        first.kill()
        first.wait()
        r = self.agent("--script", script, "--resume")
        self.assertEqual((r["exit_status"], r["turns"]), ("submitted", 3))
        lines = (self.folder / ".work.fiel/trajectory.jsonl").read_text()
        self.assertIn("interrupted: no result was kept", lines)

    def test_a_replayed_endpoint_answers_in_the_place_of_a_model(self):
        def exchange(name, arguments):
            call = {"id": "a", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            body = {"choices": [{"index": 0, "message": {"content": None, "tool_calls": [call]},
                                 "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
            return json.dumps({"response": {"status": 200, "headers": {"content-type": "application/json"},
                                            "body": json.dumps(body), "end": "complete"}})
        replay = self.folder / "talk.jsonl"
        replay.write_text("\n".join([exchange(*write(RIGHT)), exchange("submit", {})]) + "\n")
        r = self.agent("--model", "m", "--replay", str(replay))
        self.assertEqual((r["exit_status"], r["scored"]["status"]), ("submitted", "correct"))
        self.assertEqual(r["cost"]["input_tokens"], 14)

    def test_a_live_endpoint_is_recorded_without_its_key(self):
        server = subprocess.Popen([sys.executable, str(SOURCE / "tests/agent/model_server.py")],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdin.close)
        port = server.stdout.readline().strip()
        record = self.folder / "talk.jsonl"
        r = self.agent("--model", "m", "--base-url", f"http://127.0.0.1:{port}/hello/v1", "--record", str(record),
                       code=5, env={"OPENAI_API_KEY": "sk-secret-0123456789"})
        self.assertEqual(r["exit_status"], "final_answer")
        self.assertIn("hel", record.read_text())
        for path in [record, *(self.folder / ".work.fiel").rglob("*"), *self.work.rglob("*")]:
            if path.is_file():
                self.assertNotIn("sk-secret", path.read_text(errors="replace"), path)

    def test_another_agents_program_works_under_the_same_budgets(self):
        right = self.folder / "right.cu"
        right.write_text(RIGHT)
        command = f"cp '{right}' {{workspace}}/kernel.cu && bin/verify && echo x >> task.toml && bin/submit && bin/verify"
        r = self.agent("--external", command, "--kernels", "2")
        self.assertEqual((r["exit_status"], r["scored"]["verb"]), ("submitted", "submit"))
        self.assertEqual(r["changed_fixed_files"], ["task.toml"])
        log = (self.folder / ".work.fiel/external.log").read_text()
        self.assertIn("no judgements are left", log)

    def test_a_program_that_does_not_end_is_ended(self):
        r = self.agent("--external", "sleep 1000 & sleep 1000", "--wall", "1", code=5)
        self.assertEqual(r["exit_status"], "wall_limit")

    def test_misuse_is_named(self):
        for words in (["--model", "m", "--cost", "3", "--base-url", "http://x"], [], ["--script", "missing"],
                      ["--model", "m", "--base-url", "ftp://x"], ["--model", "m", "--api", "chatt"]):
            p = self.fiel("agent", TASK, "--workspace", str(self.work), *words, code=2,
                          env={"OPENAI_API_KEY": ""})
            self.assertIn("error:", p.stderr)
            self.assertFalse(self.work.exists(), words)


class Words(Case):
    def test_misuse_is_named(self):
        for words in (["init", str(self.folder), "--workspace", str(self.work)], ["daemon", str(self.folder)],
                      ["ask", str(self.folder), "verify"], ["ask", str(self.folder), "win"],
                      ["init", TASK, "--workspace", str(self.work), "--layout", "cuda-agent"]):
            self.assertIn("error:", self.fiel(*words, code=2).stderr, words)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
