#!/usr/bin/env python3
"""Keeps the instructions of a list (alu_instructions' output) that ptxas accepts for sm_90.

  build/dev/tests/vgpu/alu/alu_instructions | python3 tests/vgpu/h200/filter_alu.py \
      > tests/vgpu/h200/alu_instructions.txt

The parser's table accepts a little more than ptxas (cvt.rni.f64.f32, setp.lt.b32); those have no
answer on a GPU. What was dropped is printed to stderr.
"""
import re
import subprocess
import sys
import tempfile

DECLARE = """.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b16 %e<8>; .reg .b16 %g<8>; .reg .b32 %r<8>;
.reg .b32 %s<8>; .reg .b32 %x<8>; .reg .b32 %y<8>; .reg .f32 %f<8>; .reg .b64 %l<8>; .reg .f64 %d<8>;
"""


def rejected(lines):
    """Indices of instructions that ptxas refuses, all in one function."""
    text = ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n" + DECLARE
    first = text.count("\n") + 1
    text += "\n".join(line.split("\t")[0] for line in lines) + "\nret;\n}\n"
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(["ptxas", "-arch=sm_90", "-O0", file.name, "-o", "/dev/null"],
                              capture_output=True, text=True)
    bad = {int(n) - first for n in re.findall(r"line (\d+); error", done.stderr)}
    if done.returncode and not bad:
        sys.exit(done.stderr)
    return bad


def main():
    lines = [line for line in sys.stdin.read().splitlines() if line]
    while True:
        bad = rejected(lines)
        if not bad:
            break
        for i in sorted(bad):
            print("dropped", lines[i].split("\t")[0], file=sys.stderr)
        lines = [line for i, line in enumerate(lines) if i not in bad]
    print("\n".join(lines))


main()
