"""The repository speaks of the project alone and leaves nothing half done.

    check_text.py ROOT
"""
import pathlib
import re
import subprocess
import sys

FORBIDDEN = [
    (re.compile(r"\b(TODO|FIXME|XXX)\b"), "unfinished work"),
    (re.compile(r"/work/|/root/\.|/root/[a-z]*/"), "a path of one machine"),
    (re.compile(r"\b(as an AI|language model wrote)\b", re.I), "talk about the author"),
]
TEXT = {".h", ".cpp", ".c", ".cu", ".cuh", ".py", ".sh", ".md", ".toml", ".txt", ".cmake", ".json", ".ptx", ""}


def files(root: pathlib.Path) -> list[pathlib.Path]:
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [root / line for line in listed.stdout.splitlines()]
    return [p for p in root.rglob("*") if p.is_file()]


def violations(root: pathlib.Path) -> list[str]:
    found = []
    for path in sorted(files(root)):
        if path.suffix not in TEXT or not path.is_file() or path.name == "check_text.py":
            continue
        text = path.read_text(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, why in FORBIDDEN:
                if pattern.search(line):
                    found.append(f"{path.relative_to(root)}:{number}: {why}: {line.strip()[:80]}")
        if path.suffix in {".h", ".cpp"} and len(text.splitlines()) > 1500:
            found.append(f"{path.relative_to(root)}:1: {len(text.splitlines())} lines: two files")
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "clean")
    sys.exit(bool(problems))
