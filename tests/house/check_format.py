"""C and C++ sources are formatted as .clang-format says.

    check_format.py ROOT        exit 77: only another version of clang-format is here

Kernels (.cu) are laid out by hand: tests/vgpu and examples/ read better so.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = "14"  # Debian 12's; others break lines in other places
FOLDERS = ("src", "include", "tests", "bench")
SUFFIXES = {".h", ".c", ".cpp"}


def formatter() -> str | None:
    """The program, None where only other versions are installed."""
    found = [p for p in (shutil.which(f"clang-format-{VERSION}"), shutil.which("clang-format")) if p]
    if not found:
        sys.exit("clang-format not found; as root: apt-get install clang-format")
    for program in found:
        told = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
        if re.search(rf"version {VERSION}\.", told):
            return program
    return None


def violations(root: pathlib.Path, folders=FOLDERS) -> list[str]:
    program = formatter()
    sources = sorted(p for folder in folders for p in (root / folder).rglob("*") if p.suffix in SUFFIXES)
    assert sources, f"nothing to check below {root}"
    jobs = os.cpu_count() or 1

    def check(some: list[pathlib.Path]) -> str:
        done = subprocess.run([program, "--dry-run", "--Werror", f"--style=file:{root / '.clang-format'}", *some],
                              capture_output=True, text=True)
        assert done.returncode == 0 or "error:" in done.stderr, done.stderr
        return done.stderr

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        told = "".join(pool.map(check, [sources[i::jobs] for i in range(min(jobs, len(sources)))]))
    places = re.findall(r"^(\S+?):(\d+):\d+: error:", told, re.M)
    return sorted({f"{pathlib.Path(path).relative_to(root)}:{line}: clang-format -i" for path, line in places})


if __name__ == "__main__":
    if not formatter():
        print(f"skipped: no clang-format {VERSION}; other versions break lines in other places")
        sys.exit(77)
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "formatted")
    sys.exit(bool(problems))
