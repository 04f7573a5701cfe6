#!/usr/bin/env python3
"""What `fiel agent --atif` writes, read by PyPI's atif.

usage: atif_check.py FIEL SOURCE_DIR        in a Python that has the package
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from atif import Trajectory

FIEL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])


def exchange(text, *calls, **more):
    """An answer of a chat endpoint; arguments as the text that it sends."""
    message = {"content": text, "reasoning_content": "let me see", "tool_calls": [
        {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i, name, arguments in calls]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", **more}
    body = {"choices": [choice], "prompt_token_ids": [1, 2, 3], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    return json.dumps({"response": {"status": 200, "headers": {"content-type": "application/json"},
                                    "body": json.dumps(body), "end": "complete"}})


class Atif(unittest.TestCase):
    def exported(self, *words, talk):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        (folder / "talk.jsonl").write_text("\n".join(talk) + "\n")
        p = subprocess.run([FIEL, "agent", SOURCE / "tasks/softmax.toml", "--workspace", folder / "work", "--model", "m",
                            "--replay", folder / "talk.jsonl", "--atif", folder / "atif.json", *words],
                           capture_output=True, text=True, timeout=300)
        self.assertEqual(p.returncode, 5, p.stderr)  # nothing was judged
        return Trajectory.model_validate_json((folder / "atif.json").read_text())

    def test_a_run_with_results_and_malformed_calls_is_valid(self):
        t = self.exported(talk=[exchange("look", ("a", "read", '{"path":"kernel.cu"}'), ("b", "glob", '{"pattern":"*"}')),
                                exchange("", ("c", "read", '{"path":')), exchange("no more"), exchange("done")])
        self.assertEqual(t.schema_version, "ATIF-v1.4")
        self.assertEqual((t.agent.name, t.agent.model_name), ("fiel", "m"))
        self.assertRegex(t.agent.version, r"^\d+\.\d+")
        self.assertRegex(t.session_id, r"-softmax-")
        self.assertEqual([s.source for s in t.steps], ["user", "agent", "agent", "agent", "user", "agent"])
        look = t.steps[1]
        self.assertEqual([r.source_call_id for r in look.observation.results], ["a", "b"])
        self.assertEqual(look.tool_calls[0].arguments, {"path": "kernel.cu"})
        self.assertEqual(look.reasoning_content, "let me see")
        malformed = t.steps[2].tool_calls[0]
        self.assertEqual((malformed.arguments, malformed.extra["arguments_text"]), ({}, '{"path":'))
        self.assertEqual((t.final_metrics.total_prompt_tokens, t.final_metrics.total_steps), (28, 6))

    def test_calls_in_the_text_have_no_ids_and_are_valid(self):
        call = '<tool_call>{"name": "read", "arguments": {"path": "kernel.cu"}}</tool_call>'
        t = self.exported("--calls", "text", talk=[exchange(call), exchange("no more"), exchange("done")])
        self.assertIn("Result of read", t.steps[2].message)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
