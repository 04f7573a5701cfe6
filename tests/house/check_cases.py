"""Every known answer that tests/vgpu/README.md lists has its tests, and they exist.

    check_cases.py ROOT

In the table's last column, `cases/x` is a folder of tests/vgpu, `examples/x` a file, and `Suite.Name`
a gtest or a black-box test of tests/cli/black_box.py.
"""
import pathlib
import re
import sys

WANTED = [str(n) for n in range(1, 41)]
WANTED += [f"VP-{n:02}" for n in range(1, 12, 2)] + [f"VX-{n:02}" for n in range(1, 20, 2)]
WANTED += [f"VC-{n:02}" for n in range(1, 8, 2)] + ["J-15", "J-17", "J-19", "J-25"]


def names_of_tests(root: pathlib.Path) -> set[str]:
    names = set()
    for source in (root / "tests").rglob("*.cpp"):
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", source.read_text(), re.M):
            names.add(f"{suite}.{name}")
    suite = ""
    for line in (root / "tests/cli/black_box.py").read_text().splitlines():
        if found := re.match(r"class (\w+)\(", line):
            suite = found[1]
        elif found := re.match(r"    def (test_\w+)", line):
            names.add(f"{suite}.{found[1]}")
    return names


def violations(root: pathlib.Path) -> list[str]:
    page = root / "tests/vgpu/README.md"
    tests, found, seen = names_of_tests(root), [], set()
    for number, line in enumerate(page.read_text().splitlines(), 1):
        row = re.match(r"\| ((?:V[PXC]|J)-\d+|\d+) \|.*\|([^|]*)\|$", line)
        if not row:
            continue
        where = f"tests/vgpu/README.md:{number}"
        seen.add(row[1])
        names = re.findall(r"`([^`]+)`", row[2])
        if not names:
            found.append(f"{where}: {row[1]} names no test")
        for name in names:
            if name.startswith("cases/"):
                exists = (page.parent / name / "case.toml").is_file()
            elif name.startswith("examples/"):
                exists = (root / name).is_file()
            else:
                exists = name in tests
            if not exists:
                found.append(f"{where}: {row[1]} names {name}, which does not exist")
    found += [f"tests/vgpu/README.md: {name} is not in the table" for name in WANTED if name not in seen]
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "every known answer has its tests")
    sys.exit(bool(problems))
