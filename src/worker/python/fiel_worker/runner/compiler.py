"""What torch.utils.cpp_extension calls in place of g++ and nvcc: the compiler, with light headers
first and the real ones where those do not do. Runs alone: python -I compiler.py TOOL ARGUMENTS.

FIEL_TORCH_INCLUDE is PyTorch's include folder, FIEL_BUILD_LOG takes a line a compilation.
"""

import os
import subprocess
import sys
import tempfile
import time

SUFFIXES = (".cu", ".cpp", ".cc", ".cxx", ".c++")


def main() -> int:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import light_headers

    tool, arguments = sys.argv[1], sys.argv[2:]
    sources = [word for word in arguments if word.endswith(SUFFIXES) and os.path.isfile(word)]
    text = None
    if "-c" in arguments and len(sources) == 1:
        text = light_headers.text_for(
            light_headers.source_text(sources[0]), os.environ.get("FIEL_TORCH_INCLUDE", "")
        )
    if text is None:
        return run_real(tool, arguments, sources)
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="headers-", dir=os.path.dirname(os.environ["FIEL_BUILD_LOG"]))
    light_headers.write(folder, text)
    done = subprocess.run(
        [tool, f"-I{folder}", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode == 0:
        sys.stdout.buffer.write(done.stdout)
        log(tool, sources, "light headers", begin)
        return 0
    log(tool, sources, f"light headers do not do: {first_error(done.stdout)}", begin)
    return run_real(tool, arguments, sources)


def run_real(tool: str, arguments: list[str], sources: list[str]) -> int:
    if not sources:
        os.execv(tool, [tool, *arguments])
    begin = time.monotonic()
    code = subprocess.run([tool, *arguments]).returncode
    log(tool, sources, "PyTorch's headers" if code == 0 else f"exit code {code}", begin)
    return code


def first_error(output: bytes) -> str:
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if "error" in line]
    return lines[0].strip()[-240:] if lines else "no message"


def log(tool: str, sources: list[str], what: str, begin: float) -> None:
    name = os.path.basename(sources[0])
    line = f"{os.path.basename(tool)} {name}: {time.monotonic() - begin:.1f} s, {what}\n"
    with open(os.environ["FIEL_BUILD_LOG"], "a") as file:
        file.write(line)


if __name__ == "__main__":
    sys.exit(main())
