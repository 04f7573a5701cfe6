"""Every behaviour of the table in tests/hostile/README.md has its tests, and every test there is in the table.

    check_hostile.py ROOT

A cell names tests of its carrier, or says `none:` and why. `group/case` is a folder of tests/hostile, `exploits/x`
one of exploits, `python.x` a file of tests/python, `Suite.Name` a gtest.
"""
import pathlib
import re
import sys

from check_cases import names_of_tests

CARRIERS = ("bare", "module")
KERNELS = {"bare": ("bare.cu", "kernel.cu"), "module": ("module.py", "kernel.py")}
BEHAVIOURS = 30  # as many as there have been: a row that goes is noticed


def exists(root: pathlib.Path, tests: set[str], name: str, carrier: str) -> bool:
    if name.startswith("python."):
        return (root / f"tests/python/test_{name.removeprefix('python.')}.py").is_file()
    if "/" in name:
        folder = root / name if name.startswith("exploits/") else root / "tests/hostile" / name
        return any((folder / kernel).is_file() for kernel in KERNELS[carrier])
    return name in tests


def violations(root: pathlib.Path) -> list[str]:
    page = root / "tests/hostile/README.md"
    tests, found, named, rows = names_of_tests(root), [], set(), 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        row = re.fullmatch(r"\| ([^|*]+) \| ([^|]+) \| ([^|]+) \|", line)
        if not row or row[1] == "behaviour":
            continue
        rows += 1
        for carrier, cell in zip(CARRIERS, (row[2], row[3])):
            names = re.findall(r"`([^`]+)`", cell)
            named |= {(name, carrier) for name in names}
            where = f"tests/hostile/README.md:{number}: '{row[1]}'"
            if not names and not re.match(r"none: \w", cell):
                found.append(f"{where} has no test for {carrier}")
            found += [f"{where} names {name}, which does not exist for {carrier}" for name in names
                      if not exists(root, tests, name, carrier)]
    if rows < BEHAVIOURS:
        found.append(f"tests/hostile/README.md: {rows} behaviours where there were {BEHAVIOURS}")
    for kernel in sorted((root / "tests/hostile").glob("*/*/*")):
        name = f"{kernel.parent.parent.name}/{kernel.parent.name}"
        for carrier in CARRIERS:
            if kernel.name == KERNELS[carrier][0] and (name, carrier) not in named:
                found.append(f"tests/hostile/{name}: {kernel.name} is not in the table of README.md")
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "every behaviour has its tests")
    sys.exit(bool(problems))
