"""The oracle's own cases under the clock, with a real runner process."""

import os
import pathlib
import threading
import unittest

from clock_harness import Descriptors
from fiel_worker import control
from oracle_harness import Oracle
from runner_harness import Refused, Runner

TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(24, 16)
    def forward(self, x, scale):
        return {"y": torch.relu(self.layer(x)) * scale, "mean": x.mean(1)}
def get_inputs():
    return [torch.rand(32, 24), 2.5]
def get_init_inputs():
    return []
"""
CANDIDATE = TASK.split("def get_inputs")[0].replace("class Model(", "class ModelNew(")


class Timed(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(__import__("tempfile").TemporaryDirectory()))
        path = folder / "task.py"
        path.write_text(TASK)
        self.oracle = Oracle(path=path)
        self.runners = [Runner(), Runner()]
        self.task, self.folder = str(path), folder

    def tearDown(self):
        for runner in self.runners:
            runner.process.kill()
            runner.close()

    def enter(self, runner, candidate: str | None, case, page: int) -> tuple[dict, threading.Thread]:
        if candidate is None:
            module = runner.load(self.task)["module"]
        else:
            source = self.folder / "candidate.py"
            source.write_text(candidate)
            module = runner.load(self.task, str(source))["module"]
        size = self.oracle.ask("slots", case=case, count=3)
        ours, theirs = {}, {}
        for what in ("inputs", "outputs"):
            number = self.oracle.ask("window", bytes=size[f"{what}_bytes"])["window"]
            window = self.oracle.oracle.windows[number]
            ours[f"{what}_window"] = theirs[f"{what}_window"] = number
            runner.ask("map_window", [window.descriptor], window=number, bytes=window.bytes)
        state = self.oracle.ask("weights", case=case, window=self.oracle.weights)
        window = self.oracle.oracle.windows[self.oracle.weights]
        runner.ask("map_window", [window.descriptor], window=99, bytes=window.bytes)
        runner.ask("weights", module=module, window=99, leaves=state["leaves"])
        laid = self.oracle.ask("slots", case=case, count=3, **ours)

        def ask():
            try:
                runner.ask("time", [page], module=module, slots=laid["layout"], **theirs)
            except (Refused, EOFError, OSError):
                pass

        thread = threading.Thread(target=ask)
        thread.start()
        return {"slots": laid["slots"], "trusted": candidate is None}, thread

    def time(self, candidate: str) -> dict:
        case = self.oracle.prepare()["case"]
        pages = [control.create_page(), control.create_page()]
        entered = [
            self.enter(self.runners[0], None, case, pages[0]),
            self.enter(self.runners[1], candidate, case, pages[1]),
        ]
        reply = self.oracle.oracle.op_time(
            {"case": case, "runners": [e | {"control": i} for i, (e, _) in enumerate(entered)],
             "seed": 5, "samples_max": 12, "calls": 2, "verify_share": 0.6, "lowest": "fp32"},
            Descriptors(pages),
        )
        for _, thread in entered:
            thread.join(30)
        for page in pages:
            os.close(page)
        return reply

    def test_an_honest_candidate_passes(self):
        reply = self.time(CANDIDATE)
        self.assertEqual(reply["failures"], [])
        self.assertEqual([r["ended"] for r in reply["runners"]], [None, None])
        # Of trusted sides nothing is compared in full while the clock runs.
        self.assertEqual([bool(r["verified"]) for r in reply["runners"]], [False, True])

    def test_one_wrong_element_after_the_tenth_call_is_found(self):
        wrong = CANDIDATE.replace("        return {", """        self.calls = getattr(self, "calls", 0) + 1
        if self.calls > 10:
            x = torch.cat([x[:1] + 1, x[1:]])
        return {""")
        found = self.time(wrong)["failures"]
        self.assertTrue(found)
        self.assertGreater(min(f["call"] for f in found), 9)
        self.assertEqual({f["runner"] for f in found}, {1})
        self.assertGreater(found[0]["outputs"][1]["failing"] + found[0]["outputs"][0]["failing"], 0)


if __name__ == "__main__":
    unittest.main()
