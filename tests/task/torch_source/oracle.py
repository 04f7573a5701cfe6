"""The generated module of every native task in the oracle: what timing a native task rests on.

    oracle.py WRITER TASKS

PyTorch's own answer has to pass the probes that timing asks for, inputs keep the domain that the task
declares, and wrong answers must be rejected.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))

from oracle_harness import Fault, Oracle, passed, torch  # noqa: E402

# Inputs that no probe of values moves.
NO_MIXED_SIGNS = {"histogram"}


class Native(Oracle):
    def __init__(self, source: str, domains: list):
        self.domains = domains
        super().__init__(source=source, mode="eval")

    def ask(self, op: str, **message) -> dict:
        more = {"domains": self.domains} if op == "open_task" else {}
        return super().ask(op, **message, **more)


def problem_of(name: str, source: str, domains: list) -> str | None:
    oracle = Native(source, domains)
    try:
        if oracle.opened["void"] or oracle.opened["randomness"] != "none":
            return f"void: {oracle.opened['void']}, randomness {oracle.opened['randomness']}"
        kinds = [leaf["domain"]["kind"] for leaf in oracle.opened["inputs"]]
        kept = all(d in ("real", k) for d, k in zip(domains, kinds))
        if not kept:
            return f"declared {domains}, taken for {kinds}"
        for probe in ("task-inputs", "mixed-signs"):
            case = oracle.prepare(probe)
            if case["dropped"]:
                if probe == "task-inputs":
                    return f"{probe} dropped: {case['dropped']}"
                continue
            reply = oracle.judge(case["case"])
            if not passed(reply):
                return f"{probe}: PyTorch's own answer is rejected: {reply['outputs']}"
            zeros = lambda inputs, answer=oracle.honest(case["case"]): zeroed(answer(inputs))
            if passed(oracle.judge(case["case"], zeros)):
                return f"{probe}: zeros pass"
        return None
    finally:
        oracle.close()


def zeroed(value):
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    return type(value)(zeroed(v) for v in value)


def attempt(*arguments) -> str | None:
    try:
        return problem_of(*arguments)
    except Fault as error:
        return f"fault: {error}"
    except Exception as error:  # the other tasks are checked all the same
        return f"{type(error).__name__}: {error}"


def main() -> int:
    with tempfile.TemporaryDirectory() as out:
        written = subprocess.run([sys.argv[1], sys.argv[2], out], check=False)
        names = sorted(p.stem for p in pathlib.Path(out).glob("*.json"))
        wrong = 0
        for name in names:
            case = json.loads((pathlib.Path(out) / f"{name}.json").read_text())
            source = (pathlib.Path(out) / f"{name}.py").read_text()
            if found := attempt(name, source, case["domains"]):
                wrong += 1
                print(f"{name}: {found}")
        print(f"{len(names)} tasks, {wrong} wrong, PyTorch {torch.__version__}")
        return 1 if wrong or not names or written.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
