"""The binary needs only libc-level libraries, and no glibc newer than Debian 12's.

    check_binary.py BINARY
"""
import re
import subprocess
import sys

ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


binary = sys.argv[1]
needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", binary)))
versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+\.\d+)", run("readelf", "--dyn-syms", "-W", binary))}
problems = []
if not needed:
    problems.append("no NEEDED entries read: is this the binary?")
if needed - ALLOWED:
    problems.append(f"needs {sorted(needed - ALLOWED)}")
if max(versions) > (2, 36):
    problems.append(f"needs GLIBC_{max(versions)}")
print("\n".join(problems) or f"needs {sorted(needed)}, GLIBC up to {'.'.join(map(str, max(versions)))}")
sys.exit(bool(problems))
