"""The verdict that README.md shows is the one that its command prints.

    check_readme.py ROOT FIEL_BINARY [--update]
"""
import pathlib
import re
import subprocess
import sys

root, binary = pathlib.Path(sys.argv[1]), sys.argv[2]
readme = root / "README.md"
text = readme.read_text()
match = re.search(r"`\./run (judge [^`]*)`\n\n```\n(.*?)```", text, re.S)
assert match, "README.md shows no verdict"
run = subprocess.run([binary, *match[1].split(), "--no-store"], cwd=root, capture_output=True, text=True)
printed = run.stdout.rstrip() + "\n"
if "--update" in sys.argv:
    readme.write_text(text[: match.start(2)] + printed + text[match.end(2):])
    sys.exit(0)


def comparable(verdict: str) -> list[str]:
    # How far apart the sandbox can be kept depends on the machine.
    return [re.sub(r"isolation \w+", "isolation …", line) for line in verdict.splitlines()]


shown, now = comparable(match[2]), comparable(printed)
for a, b in zip(shown, now):
    if a != b:
        print(f"README.md: {a}\nprinted:   {b}")
assert shown == now, f"{len(shown)} lines shown, {len(now)} printed; exit {run.returncode}\n{run.stderr[-2000:]}"
print(f"{len(now)} lines equal")
