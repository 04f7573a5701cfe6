#!/usr/bin/env python3
"""The server by lines on its standard input: compiled and judged for real, without any client library.

usage: lines.py FIEL SOURCE_DIR
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

FIEL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SCALED_SUM = SOURCE / "examples/torch/scaled_sum"
RIGHT = (SOURCE / "examples/softmax/simple.cu").read_text()
TASK = """
name = "softmax"
expression = "y = softmax(x, dim=-1)"
[inputs]
x = { dtype = "f32", shape = ["N", "C"] }
[shapes]
small = { N = 5, C = 64 }
odd = { N = 3, C = 37 }
"""
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Server(unittest.TestCase):
    words = []

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "softmax.toml").write_text(TASK)
        env = {**os.environ, "FIEL_STORE": str(self.folder / "store")}
        self.server = subprocess.Popen([FIEL, "mcp", "--tasks", str(self.folder), *self.words], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.stdin.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)

    def send(self, line):
        self.server.stdin.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        self.server.stdin.flush()

    def receive(self):
        return json.loads(self.server.stdout.readline())

    def call(self, number, tool, **arguments):
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                   "params": {"name": tool, "arguments": arguments, "_meta": META}})


class Lines(Server):
    def test_garbage_is_answered_and_a_kernel_judged_after_it(self):
        for line in (b"{", b"\xff\x00", b"[1]", b"x" * (9 << 20)):
            self.send(line)
            self.assertIn(self.receive()["error"]["code"], (-32700, -32600))
        self.call(1, "compile", task="softmax", kernel="#include <fiel/kernel.h>\nint broken = ;\n", wait_s=300)
        r = self.receive()["result"]
        self.assertEqual((r["structuredContent"]["good"], r["isError"]), (False, False))
        self.assertIn("expected an expression", r["content"][0]["text"])
        self.call(2, "submit", task="softmax", kernel=RIGHT, wait_s=300)
        r = self.receive()
        self.assertEqual((r["id"], r["result"]["structuredContent"]["status"]), (2, "correct"))
        self.assertTrue((self.folder / "store/fiel.db").exists())

    def test_what_a_candidate_prints_or_does_is_no_line_of_the_servers(self):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}})
        head = ("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
                f"static const char kLine[] = {json.dumps(line)} \"\\n\";\n"
                "static void say(int fd) { (void)!write(fd, kLine, strlen(kLine)); }\n")
        begin = RIGHT.index("{", RIGHT.index("fiel_run(")) + 1

        def with_first(words):
            return head + RIGHT[:begin] + words + RIGHT[begin:]
        kernels = [(with_first("say(1); say(2); puts(kLine); fflush(stdout);"), "correct"),
                   (with_first("say(1); say(2); abort();"), "runtime_error"),
                   (with_first("for (int fd = 1; fd < 256; ++fd) say(fd);"), "tampering"), (RIGHT, "correct")]
        for number, (kernel, status) in enumerate(kernels, 7):
            self.call(number, "verify", task="softmax", kernel=kernel, wait_s=300)
            answer = self.receive()
            self.assertEqual((answer["id"], answer["result"]["structuredContent"]["status"]), (number, status))
        self.server.stdin.close()
        self.assertEqual(self.server.stdout.read(), b"")

    def test_it_ends_with_its_input_and_takes_its_work_along(self):
        self.call(1, "verify", task="softmax", kernel=RIGHT, wait_s=300)
        time.sleep(0.3)
        self.server.stdin.close()
        self.assertEqual(self.server.wait(timeout=60), 0)


class TorchLines(Server):
    words = ["--device", "cpu"]

    def setUp(self):
        super().setUp()
        (self.folder / "torch").mkdir()
        shutil.copy(SCALED_SUM / "task.py", self.folder / "torch" / "scaled_sum.py")

    def ask(self, number, tool, **arguments):
        self.call(number, tool, wait_s=300, **arguments)
        return self.receive()["result"]

    def test_modules_are_built_judged_and_kept(self):
        wrong, right = ((SCALED_SUM / f"{name}.py").read_text() for name in ("ignores_alpha", "plain"))
        self.call(1, "list_tasks", task="torch/scaled_sum")
        [task] = self.receive()["result"]["structuredContent"]["tasks"]
        self.assertEqual(task["source"], (SCALED_SUM / "task.py").read_text())
        for tool, kernel, said in (("compile", "class ModelNew: broken =", "SyntaxError"), ("compile", right, "built in"),
                                   ("verify", "import torch\n", "ModelNew"), ("verify", wrong, "worst element"),
                                   ("bench", right, "not measured"), ("submit", right, "verdict: correct")):
            r = self.ask(2, tool, task=task["name"], kernel=kernel)
            self.assertIn(said, r["content"][0]["text"])
            self.assertEqual(r["structuredContent"]["good"], kernel == right)
        self.assertTrue((self.folder / "store/fiel.db").exists())
        r = self.ask(3, "verify", task=task["name"], kernel=RIGHT)
        self.assertTrue(r["isError"])
        self.assertIn("bare kernel runs on the virtual device or a GPU", r["content"][0]["text"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
