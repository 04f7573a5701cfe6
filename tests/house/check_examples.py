"""Every kernel of examples/ has its verdict in the folder's expect.toml: one status, and a file that is there.

    check_examples.py ROOT
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from judge_examples import read_expectations  # noqa: E402

KEYS = {"file", "status", "cuda_status", "numerics", "finding", "probe", "weights", "arguments"}
NO_KERNELS = {"expect.toml", "task.py"}


def violations(root: pathlib.Path) -> list[str]:
    found = []
    for folder in sorted({p.parent for p in (root / "examples").rglob("*") if p.suffix in (".cu", ".toml")}):
        name = str(folder.relative_to(root))
        if any((parent / "expect.toml").is_file() for parent in folder.parents):
            continue  # the inside of a work folder
        if not (folder / "expect.toml").is_file():
            found += [f"{name}/{kernel.name}: there is no expect.toml beside it" for kernel in folder.glob("*.cu")]
            continue
        expectations = read_expectations(folder / "expect.toml")
        if not (root / expectations["task"]).is_file():
            found.append(f"{name}/expect.toml: task {expectations['task']} does not exist")
        listed = set()
        for kernel in expectations.get("kernel", []):
            listed.add(kernel["file"])
            if not (folder / kernel["file"]).exists():
                found.append(f"{name}/expect.toml: {kernel['file']} does not exist")
            if not isinstance(kernel["status"], str):
                found.append(f"{name}/expect.toml: {kernel['file']} has more than one status")
            if unknown := set(kernel) - KEYS:
                found.append(f"{name}/expect.toml: {kernel['file']} has unknown keys {sorted(unknown)}")
        found += [f"{name}/{kernel.name} has no entry in expect.toml" for kernel in sorted(folder.iterdir())
                  if kernel.name not in listed | NO_KERNELS]
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "every example has its verdict")
    sys.exit(bool(problems))
