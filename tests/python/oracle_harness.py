"""An oracle in this process, without a channel, and an honest or dishonest candidate for it."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src/worker/python"))

import torch  # noqa: E402

torch.set_num_threads(1)  # small tensors; other tests run beside this one
from fiel_worker.channel import Fault  # noqa: E402,F401
from fiel_worker.oracle.operations import Oracle as _Oracle  # noqa: E402
from fiel_worker.values import flatten, describe, layout, tensors_of, view  # noqa: E402

VALUE_PROBES = ("task-inputs", "mixed-signs", "offset-mean", "scale-range", "outliers", "ties",
                "constant", "one-hot", "special-values")
TASKS = pathlib.Path(__file__).resolve().parents[2] / "tasks/torch"


class _Context:
    def __init__(self):
        self.given = []

    def give(self, descriptor):
        self.given.append(descriptor)

    def progress(self, *_):
        pass


class Oracle:
    """One open task with its windows. `answer` functions take the inputs as placed."""

    def __init__(self, source: str | None = None, path=None, mode="train", init_seed=3):
        self.oracle, self.context = _Oracle("cpu"), _Context()
        self.opened = self.ask("open_task", reference=source, path=str(path) if path else None,
                               mode=mode, init_seed=init_seed)
        sizes = self.opened["window_bytes"]
        self.inputs, self.outputs, self.weights = (
            self.ask("window", bytes=2 * sizes[k])["window"] for k in ("inputs", "outputs", "weights"))

    def ask(self, op: str, **message) -> dict:
        return getattr(self.oracle, f"op_{op}")(message, self.context)

    def close(self) -> None:
        for window in list(self.oracle.windows):
            self.ask("drop_window", window=window)

    @property
    def task(self):
        return self.oracle.cases.task

    def prepare(self, probe="task-inputs", variant=0, seed=5, **more) -> dict:
        return self.ask("prepare", probe=probe, variant=variant, seed=seed, **more)

    def honest(self, number):
        """The reference's own answer in its own types."""
        case = self.oracle.cases.get(number)
        self.task.use_weights(case.weights)

        def answer(inputs):
            seed = case.run_seed
            tree, outputs = self.task.run(inputs, seed)
            from fiel_worker.values import rebuild

            return rebuild(tree, [t for _, t in outputs])

        return answer

    def judge(self, number, answer=None, lowest="fp32", after=None, state=False, poison=255):
        """The reply of `verify` for what `answer` makes of the case's inputs."""
        placed = self.ask("place", case=number, **{"in": self.inputs}, out=self.outputs, poison=poison)
        inputs = tensors_of(self.oracle.windows[self.inputs], placed["inputs"])
        result = (answer or self.honest(number))(inputs)
        value = self.write(result, placed["outputs"])
        if after:
            after(self, placed, value)
        return self.ask("verify", case=number, outputs=value, lowest=lowest, state=state or None)

    def write(self, result, region) -> dict:
        tree, leaves = flatten(result)
        described = [describe(p, t.contiguous()) for p, t in leaves]
        end = layout(described, region["offset"])
        assert end <= region["offset"] + region["bytes"]
        for leaf, (_, tensor) in zip(described, leaves):
            view(self.oracle.windows[self.outputs], leaf).copy_(tensor)
        return {"tree": tree, "leaves": described}


def passed(reply: dict) -> bool:
    rows = reply["outputs"] + reply["state"]
    clean = not (reply["structure"] or reply["inputs_modified"] or reply["guards"] or reply["unwritten"])
    return clean and all(not r["failing"] and not r["rms_failed"] for r in rows)
