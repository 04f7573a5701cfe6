#!/usr/bin/env python3
"""Workspaces and agents through the binary, offline.

usage: black_box.py FIEL SOURCE_DIR [TestClass[.test_name]]
"""
import json
import os
import pathlib
import shutil
import signal
import socket
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

    def wait_until(self, true):
        for _ in range(2400):
            if true():
                return
            time.sleep(0.05)
        self.fail("it did not come to that")

    def running(self):
        """All processes: number, command line, working folder."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{process.name} {words} cwd {os.readlink(process / 'cwd')}")
            except OSError:
                pass
        return found

    def end(self, process):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def fiel(self, *words, **more):
        return self.run_words(FIEL, *words, **more)


# A dozen that live for less than it takes to find them. And at most `room` live processes, each with a byte of a file locked (a lock dies with its process): who is killed is
# replaced at once, in another session, without a parent. Where there is no room they sleep, and after a while they end
# by themselves, whatever becomes of the test.
FORK_BOMB = """
import fcntl, os, random, signal, struct, sys, time
room, until = int(sys.argv[2]), time.monotonic() + 90
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
for mover in range(12):
    if os.fork(): continue
    while time.monotonic() < until:
        try:
            if os.fork(): os._exit(0)
        except OSError: pass
        os.setsid()
    os._exit(0)
places = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
def lock(command, at): return fcntl.fcntl(places, command, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, at, 1, 0))
def is_free(at): return struct.unpack("hhqqi4x", lock(fcntl.F_GETLK, at))[0] == fcntl.F_UNLCK
def settle(at):
    try: lock(fcntl.F_SETLK, at)
    except OSError: os._exit(0)
own = random.randrange(room)
settle(own)
while time.monotonic() < until:
    free = [at for at in random.sample(range(room), 8) if at != own and is_free(at)]
    if not free:
        time.sleep(0.1 * random.random())
        continue
    try: child = os.fork()
    except OSError: continue
    if child:
        os.waitpid(child, 0)
        continue
    try:
        os.setsid()
        if os.fork(): os._exit(0)
    except OSError: os._exit(0)
    own = free[0]
    settle(own)
    random.seed()
"""


class Daemons(Case):
    def start_daemon(self, *words):
        daemon = subprocess.Popen([FIEL, "daemon", str(self.work), *words], stderr=subprocess.PIPE, text=True)
        self.addCleanup(daemon.stderr.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.send_signal, signal.SIGINT)
        self.wait_until(self.is_served)
        return daemon

    def is_served(self):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(str(self.folder / ".work.ask/judge.sock")) == 0


class Workspaces(Daemons):
    def setUp(self):
        super().setUp()
        self.fiel("init", TASK, "--workspace", str(self.work))

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

    def test_a_daemon_that_is_killed_in_a_judgement_leaves_nothing_behind(self):
        (self.work / "kernel.cu").write_text(RIGHT)
        first = self.start_daemon()
        self.run_words(str(self.work / "bin/verify"))
        state = str(self.folder / ".work.fiel")
        judging = lambda: [words for words in self.running() if f" judge {state}" in words or "bin/submit" in words]
        asked = subprocess.Popen([str(self.work / "bin/submit")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(asked.stderr.close)
        self.wait_until(lambda: [words for words in judging() if f" judge {state}" in words])
        # Stopped, it does not come to its end by itself.
        judge = int(next(words for words in judging() if f" judge {state}" in words).split()[0])
        os.kill(judge, signal.SIGSTOP)
        self.addCleanup(self.end, judge)
        first.kill()
        self.assertNotEqual(asked.wait(timeout=60), 0)
        self.assertIn("hung up", asked.stderr.read())
        self.wait_until(lambda: not judging())
        # What was judged is kept, what was not is not, and another daemon takes over its socket.
        self.start_daemon()
        self.run_words(str(self.work / "bin/submit"))
        ledger = [json.loads(line) for line in (self.folder / ".work.fiel/ledger.jsonl").read_text().splitlines()]
        self.assertEqual([(e["number"], e["verb"], e["status"]) for e in ledger],
                         [(1, "verify", "correct"), (2, "submit", "correct")])

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
        self.wait_until(lambda: (self.work / "begun").exists())
        first.kill()
        first.wait()
        r = self.agent("--script", script, "--resume")
        self.assertEqual((r["exit_status"], r["turns"]), ("submitted", 3))
        lines = (self.folder / ".work.fiel/trajectory.jsonl").read_text()
        self.assertIn("interrupted: no result was kept", lines)

    def talk(self, *calls):
        """A recording without requests: it answers whatever is asked."""
        def exchange(number, name, arguments):
            call = {"id": f"a{number}", "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)}}
            body = {"choices": [{"index": 0, "message": {"content": None, "tool_calls": [call]},
                                 "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
            return json.dumps({"response": {"status": 200, "headers": {"content-type": "application/json"},
                                            "body": json.dumps(body), "end": "complete"}})
        path = self.folder / "talk.jsonl"
        path.write_text("".join(exchange(n, *c) + "\n" for n, c in enumerate(calls)))
        return str(path)

    def test_a_replayed_endpoint_answers_in_the_place_of_a_model(self):
        r = self.agent("--model", "m", "--replay", self.talk(write(RIGHT), ("submit", {})))
        self.assertEqual((r["exit_status"], r["scored"]["status"]), ("submitted", "correct"))
        self.assertEqual(r["cost"]["input_tokens"], 14)

    def test_a_recording_that_ends_early_is_gone_on_with(self):
        r = self.agent("--model", "m", "--replay", self.talk(write(RIGHT), ("verify", {})))
        self.assertEqual((r["exit_status"], r["scored"]["verb"]), ("model_failed", "verify"))
        # Played from its third answer on: from the first, the wrong kernel would be submitted.
        r = self.agent("--model", "m", "--resume", "--replay", self.talk(write(WRONG), ("verify", {}), ("submit", {})))
        self.assertEqual((r["exit_status"], r["turns"], r["scored"]["status"]), ("submitted", 3, "correct"))

    def served(self, scenario):
        """The address of a model server of our own."""
        server = subprocess.Popen([sys.executable, str(SOURCE / "tests/agent/model_server.py")],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdin.close)
        return f"http://127.0.0.1:{server.stdout.readline().strip()}/{scenario}/v1"

    def writes_and_submits(self, api):
        keys = {"OPENAI_API_KEY": "sk-secret-0123456789", "ANTHROPIC_API_KEY": "sk-secret-0123456789"}
        r = self.agent("--api", api, "--model", "m", "--base-url", self.served("work"), "--prices", "3,0.3,15", env=keys)
        self.assertEqual((r["exit_status"], r["turns"]), ("submitted", 2))
        self.assertEqual((r["scored"]["verb"], r["scored"]["status"], r["scored"]["note"]),
                         ("submit", "correct", "as the example"))
        # Twice 11 tokens of input, 4 of them cached, and 5 of output.
        self.assertEqual((r["cost"]["input_tokens"], r["cost"]["output_tokens"]), (22, 10))
        self.assertAlmostEqual(r["cost"]["cost"], (14 * 3 + 8 * 0.3 + 10 * 15) / 1e6)

    def test_over_chat_completions_a_kernel_is_written_and_submitted(self):
        self.writes_and_submits("chat")

    def test_over_responses_a_kernel_is_written_and_submitted(self):
        self.writes_and_submits("responses")

    def test_over_anthropics_messages_a_kernel_is_written_and_submitted(self):
        self.writes_and_submits("anthropic")

    def test_a_live_endpoint_is_recorded_without_its_key(self):
        record = self.folder / "talk.jsonl"
        r = self.agent("--model", "m", "--base-url", self.served("hello"), "--record", str(record), code=5,
                       env={"OPENAI_API_KEY": "sk-secret-0123456789"})
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

    def test_a_program_that_does_not_end_is_ended_with_all_that_it_started(self):
        # In its group; in a session of its own; without a parent; and starting itself again and again.
        again = "import os, time\nwhile True:\n    if os.fork(): os._exit(0)\n    os.setsid(); time.sleep(0.001)\n"
        (self.folder / "again.py").write_text(again)
        mark = f"{self.folder}/again.py"
        command = (f"sleep 1001 & setsid sleep 1002 & (setsid sh -c 'sleep 1003; : {mark}' &) ; "
                   f"python3 {mark} & sleep 1004")
        r = self.agent("--external", command, "--wall", "2", code=5)
        self.assertEqual(r["exit_status"], "wall_limit")
        left = [words for words in self.running() if mark in words or words.endswith(f"cwd {self.work}")]
        self.assertEqual(left, [])

    def fork_bomb(self, room=300):
        """The command that starts one, and how to find what is left of it."""
        program = self.folder / "bomb.py"
        program.write_text(FORK_BOMB)
        return (f"{sys.executable} -I -S '{program}' '{self.folder}/places' {room}",
                lambda: [words for words in self.running() if str(program) in words])

    def needs_own_process_space(self, result):
        if result["processes"] != "own process space":
            self.skipTest(result["processes"])

    def test_a_fork_bomb_is_ended_whole_at_the_end_of_its_time(self):
        command, left = self.fork_bomb()
        r = self.agent("--external", command, "--wall", "3", code=5)
        self.needs_own_process_space(r)
        self.assertEqual(left(), [])
        self.assertEqual(r["exit_status"], "wall_limit")

    def test_a_fork_bomb_that_a_program_leaves_behind_changes_no_score(self):
        command, left = self.fork_bomb()
        right = self.folder / "right.cu"
        right.write_text(RIGHT)
        r = self.agent("--external", f"cp '{right}' kernel.cu; bin/verify; {command} & sleep 2; exit 4")
        self.needs_own_process_space(r)
        self.assertEqual(left(), [])
        self.assertEqual((r["exit_status"], r["detail"], r["scored"]["status"], r["best_judged_again"]["status"]),
                         ("final_answer", "exit code 4", "correct", "correct"))

    def test_a_fork_bomb_is_ended_beyond_its_number_of_processes(self):
        command, left = self.fork_bomb()
        r = self.agent("--external", command, "--processes", "100", "--wall", "60", code=5)
        self.needs_own_process_space(r)
        self.assertEqual((r["exit_status"], r["detail"]), ("process_limit", "more than 100 processes"))
        self.assertEqual(left(), [])

    def test_without_namespaces_processes_are_found_and_ended_one_by_one(self):
        r = self.agent("--external", "setsid sleep 1006 & sleep 1007", "--wall", "2", code=5,
                       env={"FIEL_NO_NAMESPACES": "1"})
        self.assertEqual(r["exit_status"], "wall_limit")
        self.assertRegex(r["processes"], r"^found in /proc: .*FIEL_NO_NAMESPACES")
        self.assertEqual([words for words in self.running() if words.endswith(f"cwd {self.work}")], [])
        many = "for i in $(seq 60); do setsid sleep 1008 & done; sleep 1008"
        r = self.agent("--external", many, "--resume", "--processes", "50", "--wall", "60", code=5,
                       env={"FIEL_NO_NAMESPACES": "1"})
        self.assertEqual(r["exit_status"], "process_limit")
        self.assertEqual([words for words in self.running() if words.endswith(f"cwd {self.work}")], [])

    def test_another_program_has_its_shells_session_its_user_and_no_terminal(self):
        command = ("pwd; id -u; id -G; echo $MARK; umask; read x; echo \"read [$x] $?\"; tty; ls /dev/null; : > /dev/null; "
                   "test -d /proc/$$ && test \"$(cut -d' ' -f5,6 /proc/$$/stat)\" = \"$$ $$\" && echo leads; "
                   "trap '' TERM; kill -TERM 0; sh -c 'kill -9 $$'; echo killed $?; exit 9")
        log = []
        for env in ({}, {"FIEL_NO_NAMESPACES": "1"}):
            for closed in ("", "exec 0<&-; "):
                words = ["sh", "-c", closed + 'exec "$@"', "sh", FIEL, "agent", TASK, "--workspace", str(self.work), "--json",
                         "--external", command, *(["--resume"] if log else [])]
                r = json.loads(self.run_words(*words, code=5, env={**env, "MARK": "kept"}).stdout)
                self.assertEqual((r["exit_status"], r["detail"]), ("final_answer", "exit code 9"))
                log.append((self.folder / ".work.fiel/external.log").read_text())
        groups = " ".join(map(str, dict.fromkeys([os.getgid(), *os.getgroups()])))
        self.assertEqual(log[0].replace("Killed\n", ""),
                         f"{self.work}\n{os.getuid()}\n{groups}\nkept\n{log[0].splitlines()[4]}\nread [] 1\n"
                         f"not a tty\n/dev/null\nleads\nkilled 137\n")
        self.assertEqual(log, [log[0]] * 4)

    def test_a_killed_run_takes_another_program_with_it(self):
        command = f"(setsid sh -c 'sleep 1009' &) ; setsid sleep 1010 & touch begun; sleep 1011"
        first = subprocess.Popen([FIEL, "agent", TASK, "--workspace", str(self.work), "--external", command],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_until(lambda: (self.work / "begun").exists())
        first.kill()
        first.wait()
        left = lambda: [words for words in self.running() if words.endswith(f"cwd {self.work}")]
        r = self.agent("--external", "true", "--resume", code=5)
        if r["processes"] != "own process space":
            for words in left():
                self.end(int(words.split()[0]))
            self.skipTest(r["processes"])
        self.wait_until(lambda: not left())

    def test_an_agent_that_deletes_its_workspace_is_scored_by_what_was_judged(self):
        script = self.script(turn("", write(RIGHT), ("verify", {})),
                             turn("", ("shell", {"command": "rm -rf ./* ./.[!.]*; cd /; rm -rf /kernel"}),
                                  ("verify", {"note": "of nothing"})),
                             turn("", write(RIGHT), ("submit", {})))
        r = self.agent("--script", script)
        self.assertEqual((r["exit_status"], r["scored"]["number"], r["scored"]["status"]), ("submitted", 2, "correct"))
        self.assertIn("bin/verify", r["changed_fixed_files"])
        self.assertTrue(os.access(self.work / "bin/verify", os.X_OK))

    def test_another_program_that_deletes_its_workspace_is_scored_by_what_was_judged(self):
        right = self.folder / "right.cu"
        right.write_text(RIGHT)
        r = self.agent("--external", f"cp '{right}' kernel.cu && bin/verify && rm -rf {{workspace}} && exit 7")
        self.assertEqual((r["exit_status"], r["detail"], r["scored"]["verb"]), ("final_answer", "exit code 7", "verify"))
        self.assertFalse(self.work.exists())

    def test_what_a_program_leaves_behind_is_ended_too(self):
        r = self.agent("--external", "setsid sleep 1005 & exit 0", code=5)
        self.assertEqual((r["exit_status"], r["detail"]), ("final_answer", "exit code 0"))
        self.assertEqual([words for words in self.running() if words.endswith(f"cwd {self.work}")], [])

    def test_budgets_that_do_not_reach_another_program_are_refused(self):
        for words in (["--turns", "3"], ["--tokens", "3"], ["--cost", "1", "--prices", "1,2"], ["--calls", "text"],
                      ["--model", "m"], ["--atif", "a.json"], ["--require-isolation"]):
            p = self.fiel("agent", TASK, "--workspace", str(self.work), "--external", "true", *words, code=2)
            self.assertIn(f"{words[0]} says nothing", p.stderr)
            self.assertFalse(self.work.exists(), words)

    def test_the_articles_preset_is_six_judged_kernels(self):
        seven = [turn("", ("verify", {"note": str(n)})) for n in range(7)]
        r = self.agent("--script", self.script(turn("", write("int broken = ;\n")), *seven), "--preset", "article", code=None)
        self.assertEqual((r["exit_status"], r["turns"], r["scored"]["number"]), ("kernel_limit", 7, 6))

    def test_an_agent_of_another_user_reaches_the_judge_and_not_its_folder(self):
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if os.geteuid() != 0 or subprocess.run([*nobody, FIEL, "version"], capture_output=True).returncode != 0:
            self.skipTest("only root can start a program as another user, and nobody must be able to run fiel")
        self.folder.chmod(0o755)
        right = self.folder / "right.cu"
        right.write_text(RIGHT)
        state = self.folder / ".work.fiel"
        command = (f"id -un; cp '{right}' kernel.cu; bin/verify; ls {state}; cat {state}/verdicts/1.json; "
                   f"echo x >> {state}/ledger.jsonl; touch {self.folder}/.work.ask/x; rm -f {self.folder}/.work.ask/*; "
                   f"bin/submit")
        r = self.agent("--external", command, "--agent-user", "nobody")
        log = (state / "external.log").read_text()
        self.assertEqual((r["exit_status"], r["scored"]["status"]), ("submitted", "correct"), log)
        self.assertTrue(log.startswith("nobody\n"), log)
        self.assertEqual(log.count("ermission denied"), 4, log)
        self.assertNotIn("seed", log)

    def test_misuse_is_named(self):
        for words in (["--model", "m", "--cost", "3", "--base-url", "http://x"], [], ["--script", "missing"],
                      ["--external", "true", "--preset", "articel"], ["--script", "x", "--agent-user", "nobody"],
                      ["--external", "true", "--agent-user", "no-such-user"], ["--external", "true", "--agent-user", "root"],
                      ["--model", "m", "--base-url", "ftp://x"], ["--model", "m", "--api", "chatt"]):
            p = self.fiel("agent", TASK, "--workspace", str(self.work), *words, code=2,
                          env={"OPENAI_API_KEY": ""})
            self.assertIn("error:", p.stderr)
            self.assertFalse(self.work.exists(), words)


SCALED_SUM = SOURCE / "examples/torch/scaled_sum"


def has_torch():
    words = [os.environ.get("FIEL_PYTHON", "python3"), "-c", "import torch"]
    return subprocess.run(words, capture_output=True).returncode == 0


class TorchWorkspaces(Daemons):
    def setUp(self):
        super().setUp()
        if not has_torch():
            self.skipTest("no Python with PyTorch: name one by FIEL_PYTHON")

    def asked(self, verb, code=0):
        return self.run_words(str(self.work / "bin" / verb), code=code, timeout=900).stdout

    def ledger(self):
        lines = (self.folder / ".work.fiel/ledger.jsonl").read_text().splitlines()
        return [(e["verb"], e["status"]) for e in map(json.loads, lines)]

    def test_a_module_goes_from_skeleton_to_submission_and_out_as_a_folder(self):
        self.fiel("init", str(SCALED_SUM / "task.py"), "--workspace", str(self.work), "--device", "cpu")
        self.start_daemon()
        self.assertIn("built in", self.asked("compile"))  # the skeleton
        kernel = self.work / "kernel.py"
        kernel.write_text("import torch\nclass Other(torch.nn.Module): pass\n")
        self.assertIn("ModelNew", self.asked("compile", code=1))
        kernel.write_text((SCALED_SUM / "ignores_alpha.py").read_text())
        self.assertIn("verdict: incorrect", self.asked("verify", code=1))
        kernel.write_text((SCALED_SUM / "plain.py").read_text())
        self.assertIn("verdict: correct", self.asked("verify"))
        self.assertIn("verdict: correct", self.asked("submit"))
        self.assertEqual(self.ledger(), [("verify", "incorrect"), ("verify", "correct"), ("submit", "correct")])
        out = self.folder / "out"
        self.fiel("init", str(self.work), "--export-cuda-agent", str(out))
        self.assertEqual((out / "model_new.py").read_text(), (SCALED_SUM / "plain.py").read_text())
        self.assertEqual((out / "model.py").read_text(), (SCALED_SUM / "task.py").read_text())

    def test_a_cuda_agent_folder_comes_in_is_built_judged_and_goes_out(self):
        theirs = self.folder / "theirs"
        shutil.copytree(SCALED_SUM / "work_folder", theirs)
        shutil.copy(SCALED_SUM / "task.py", theirs / "model.py")
        self.fiel("init", str(theirs), "--workspace", str(self.work), "--device", "cpu")
        self.start_daemon()
        source = self.work / "kernels/scaled_sum.cpp"
        right = source.read_text()
        source.write_text(right + "\nint broken = ;\n")
        self.assertRegex(self.asked("compile", code=1), r"scaled_sum.cpp:\d+.*error")
        source.write_text(right)
        self.assertIn("built in", self.asked("compile"))
        self.assertFalse((self.folder / ".work.fiel/ledger.jsonl").exists())  # nothing was judged
        self.assertIn("verdict: correct", self.asked("submit"))
        self.assertEqual(self.ledger(), [("submit", "correct")])
        out = self.folder / "out"
        self.fiel("init", str(self.work), "--export-cuda-agent", str(out))
        names = [str(p.relative_to(theirs)) for p in sorted(theirs.rglob("*")) if p.is_file()]
        self.assertEqual([str(p.relative_to(out)) for p in sorted(out.rglob("*")) if p.is_file()], names)
        for name in names:
            self.assertEqual((out / name).read_text(), (theirs / name).read_text(), name)


class Words(Case):
    def test_misuse_is_named(self):
        for words in (["init", str(self.folder), "--workspace", str(self.work)], ["daemon", str(self.folder)],
                      ["ask", str(self.folder), "verify"], ["ask", str(self.folder), "win"],
                      ["init", TASK, "--workspace", str(self.work), "--layout", "cuda-agent"]):
            self.assertIn("error:", self.fiel(*words, code=2).stderr, words)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
