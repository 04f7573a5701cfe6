#!/usr/bin/env python3
"""The server by a real client (PyPI: mcp), with the handshake and without.

usage: client.py FIEL SOURCE_DIR
"""
import asyncio
import pathlib
import re
import sys
import tempfile
import unittest

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

FIEL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
RIGHT = (SOURCE / "examples/softmax/simple.cu").read_text()
WRONG = (SOURCE / "examples/softmax/missing_tail.cu").read_text()
TASK = """
name = "softmax"
description = "Softmax of rows."
expression = "y = softmax(x, dim=-1)"
[inputs]
x = { dtype = "f32", shape = ["N", "C"] }
[shapes]
small = { N = 5, C = 64 }
odd = { N = 3, C = 37 }
"""


async def talk(mode, folder):
    server = StdioServerParameters(command=FIEL, args=["mcp", "--tasks", folder], env={"FIEL_STORE": folder + "/store"})
    async with Client(server, mode=mode) as client:
        seen = {"version": client.protocol_version, "tools": [t.name for t in (await client.list_tools()).tools]}
        seen["tasks"] = (await client.call_tool("list_tasks", {})).structured_content["tasks"]
        wrong = await client.call_tool("verify", {"task": "softmax", "kernel": WRONG, "wait_s": 300})
        seen["wrong"] = wrong.structured_content
        handle = (await client.call_tool("verify", {"task": "softmax", "kernel": RIGHT, "wait_s": 0})).structured_content
        seen["handle"] = handle["state"]
        right = await client.call_tool("job", {"job_id": handle["job_id"], "wait_s": 300})
        seen["right"] = right.structured_content
        profile = await client.call_tool("profile", {"task": "softmax", "kernel": RIGHT, "wait_s": 300})
        seen["profile"] = profile.content[0].text
        seen["explained"] = (await client.call_tool("explain", {"word": "output-not-covered"})).content[0].text
        try:
            await client.call_tool("verfy", {})
        except MCPError as error:
            seen["unknown"] = str(error)
    return seen


def documented_search():
    """The function that docs/mcp.md shows."""
    text = (SOURCE / "docs/mcp.md").read_text()
    scope = {}
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], scope)
    return scope["search"]


class RealClient(unittest.TestCase):
    def test_the_documented_proposer_finds_a_right_kernel(self):
        heard = []

        def propose(task, said):
            heard.append(said)
            return RIGHT if "incorrect" in said else WRONG

        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "softmax.toml").write_text(TASK)
            best = asyncio.run(documented_search()(propose, "softmax", 2, FIEL, ("mcp", "--tasks", folder)))
        self.assertEqual(best, RIGHT)
        self.assertIn("verdict: incorrect", heard[1])

    def check(self, mode, version):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "softmax.toml").write_text(TASK)
            seen = asyncio.run(talk(mode, folder))
        self.assertEqual(seen["version"], version)
        self.assertEqual(seen["tools"],
                         ["compile", "verify", "bench", "profile", "submit", "job", "list_tasks", "explain"])
        self.assertEqual(seen["tasks"][0]["name"], "softmax")
        self.assertEqual(seen["wrong"]["status"], "incorrect")
        self.assertIn(seen["handle"], ("waiting", "running"))
        self.assertEqual((seen["right"]["state"], seen["right"]["status"]), ("done", "correct"))
        self.assertIn("softmax", seen["profile"])
        self.assertTrue(seen["explained"])
        self.assertIn("did you mean 'verify'", seen["unknown"])

    def test_with_the_handshake(self):
        self.check("legacy", "2025-11-25")

    def test_stateless(self):
        self.check("2026-07-28", "2026-07-28")

    def test_by_discovery(self):
        self.check("auto", "2026-07-28")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
