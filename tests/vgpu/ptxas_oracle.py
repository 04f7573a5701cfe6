#!/usr/bin/env python3
"""Lets ptxas fold instructions with constant operands, and reads the constants from the SASS.

  print_operands tests/vgpu/h200/alu_instructions.txt | \
      python3 tests/vgpu/ptxas_oracle.py --nvdisasm PATH > tests/vgpu/golden/alu_ptxas.txt

(print_operands is tests/vgpu/alu/print_operands.cpp: one file, no dependencies.) Needs no GPU: ptxas
evaluates with the rules of the hardware. Lines have the form of alu_sm90.txt with `-` for lanes that
were not folded to a constant, for the lanes named in the first line; instructions of which no lane was
folded are left out. nvdisasm comes from the package nvidia-cuda-nvdisasm.
"""
import argparse
import re
import struct
import subprocess
import sys
import tempfile

LANES = (1, 2)
DECLARE = (".reg .pred %p<8>; .reg .b16 %h<8>, %e<8>, %g<8>; .reg .b32 %r<8>, %s<8>, %x<8>, %y<8>;\n"
           ".reg .f32 %f<8>; .reg .b64 %l<8>; .reg .f64 %d<8>; .reg .b64 %out; .reg .b32 %T;\n"
           "ld.param.u64 %out, [out];\n")


def load(name, value):
    kind = name[1]
    if kind == "p":
        return f"setp.ne.u32 {name}, {value}, 0;\n"
    if kind in "heg":
        return f"mov.b16 {name}, {value};\n"
    if kind == "f":
        return f"mov.b32 {name}, 0f{value:08x};\n"
    if kind == "d":
        return f"mov.b64 {name}, 0d{value:016x};\n"
    return f"mov.b{64 if kind == 'l' else 32} {name}, {value};\n"


def store(name):
    kind = name[1]
    if kind == "p":
        return f"selp.u32 %T, 1, 0, {name};\nst.global.u32 [%out], %T;\n"
    if kind in "heg":
        return f"cvt.u32.u16 %T, {name};\nst.global.u32 [%out], %T;\n"
    return f"st.global.b{64 if kind in 'ld' else 32} [%out], {name};\n"


def kernel(number, text, classes, values):
    names = re.findall(r"%[a-z]\d", text)
    sources = names[2 if "|" in text else 1:]
    body, at = "", 0
    for kind, value in zip(classes, values):
        if kind == "i":
            continue
        body += load(sources[at], value)
        at += 1
    return (f".visible .entry k{number}(.param .u64 out)\n{{\n{DECLARE}{body}{text}\n"
            f"{store(names[0])}ret;\n}}\n")


def constant_of(lines):
    """The value that the only global store writes, or None."""
    registers = {"RZ": 0}
    for line in lines:
        if m := re.search(r"\bSTG?\.E(\.64)?(?:\.\w+)* [^,]*, (R\w+)", line):
            low = registers.get(m[2])
            if not m[1]:
                return low
            high = 0 if m[2] == "RZ" else registers.get(f"R{int(m[2][1:]) + 1}")
            return None if low is None or high is None else low | high << 32
        if m := re.search(r"\b(?:MOV|IMAD\.MOV\.U32) (R\d+), (?:RZ, RZ, )?(-?0x[0-9a-f]+|-?\d+|RZ) ?;", line):
            registers[m[1]] = 0 if m[2] == "RZ" else int(m[2], 0) & 0xffffffff
        elif m := re.search(r"\bCS2R (R\d+), SRZ", line):
            registers[m[1]] = registers[f"R{int(m[1][1:]) + 1}"] = 0
        elif m := re.search(r"\bHFMA2(?:\.MMA)? (R\d+), -RZ, RZ, (\S+), (\S+) ?;", line):
            registers[m[1]] = half(m[2]) << 16 | half(m[3])
        elif m := re.search(r"^\s*/\*\w+\*/\s+(?:@\S+ )?\S+ (R\d+),", line):
            registers[m[1]] = None
    return None


def half(text):
    special = {"+INF": 0x7c00, "-INF": 0xfc00, "+QNAN": 0x7fff, "-QNAN": 0xffff}
    return special[text] if text in special else struct.unpack("<H", struct.pack("<e", float(text)))[0]


def fold(kernels, nvdisasm):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/a.ptx", "w") as file:
            file.write(".version 8.7\n.target sm_90\n.address_size 64\n" + "".join(kernels))
        subprocess.run(["ptxas", "-arch=sm_90", "-O3", f"{folder}/a.ptx", "-o", f"{folder}/a.cubin"], check=True)
        sass = subprocess.run([nvdisasm, "-c", f"{folder}/a.cubin"], capture_output=True, text=True, check=True).stdout
    found, name, lines = {}, None, []
    for line in sass.splitlines() + [".text.end:"]:
        if m := re.match(r"\.text\.(\w+):", line):
            if name:
                found[name] = constant_of(lines)
            name, lines = m[1], []
        else:
            lines.append(line)
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nvdisasm", default="nvdisasm")
    arguments.add_argument("--chunk", type=int, default=2000)
    options = arguments.parse_args()
    cases = []
    for line in sys.stdin:
        text, classes, *lanes = line.rstrip("\n").split("\t")
        if "c" in classes or ".cc." in text or text.startswith("shfl") or "%q" in text:
            continue
        cases.append((text, classes, [[int(v, 16) for v in lane.split(",")] for lane in lanes]))
    wanted = [(i, lane) for i in range(len(cases)) for lane in LANES]
    folded = {}
    for begin in range(0, len(wanted), options.chunk):
        part = wanted[begin:begin + options.chunk]
        kernels = [kernel(begin + n, cases[i][0], cases[i][1], cases[i][2][lane]) for n, (i, lane) in enumerate(part)]
        found = fold(kernels, options.nvdisasm)
        for n, key in enumerate(part):
            folded[key] = found.get(f"k{begin + n}")
        print(f"{begin + len(part)} of {len(wanted)}", file=sys.stderr)
    print("# folded by ptxas for sm_90; lanes " + " ".join(map(str, LANES)))
    for i, (text, classes, _) in enumerate(cases):
        values = [folded[(i, lane)] for lane in LANES]
        if any(v is not None for v in values):
            print(f"{text}\t{classes}\t" + " ".join("-" if v is None else f"{v:x}" for v in values))


if __name__ == "__main__":
    main()
