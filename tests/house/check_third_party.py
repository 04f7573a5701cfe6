"""Third-party headers enter only the files that ARCHITECTURE.md names for them.

    check_third_party.py ROOT
"""
import pathlib
import re
import sys

# Headers of the C and C++ standard libraries, POSIX, Linux and the compiler: anything else is third-party.
SYSTEM = re.compile(
    r"^(sys|linux|asm|arpa|netinet|bits)/|^(c?(assert|ctype|errno|fenv|float|inttypes|limits|locale|math|setjmp"
    r"|signal|stdarg|stddef|stdint|stdio|stdlib|string|time|wchar)(\.h)?|algorithm|any|array|atomic|barrier|bit|bitset"
    r"|charconv|chrono|compare|complex|concepts|condition_variable|deque|exception|execution|filesystem|fstream"
    r"|functional|future|initializer_list|iomanip|ios|iosfwd|iostream|istream|iterator|latch|limits|list|map|memory"
    r"|memory_resource|mutex|new|numbers|numeric|optional|ostream|queue|random|ranges|ratio|regex|semaphore|set"
    r"|shared_mutex|source_location|span|sstream|stack|stdexcept|stop_token|string|string_view|system_error|thread"
    r"|tuple|type_traits|typeindex|typeinfo|unordered_map|unordered_set|utility|valarray|variant|vector|version"
    r"|cxxabi.h|cpuid.h|dirent.h|dlfcn.h|elf.h|execinfo.h|fcntl.h|grp.h|immintrin.h|x86intrin.h|link.h|poll.h"
    r"|pthread.h|pwd.h|sched.h|spawn.h|termios.h|ucontext.h|unistd.h|malloc.h|getopt.h|libgen.h|fnmatch.h|glob.h|syscall.h)$")


def table(architecture: str) -> dict[str, list[str]]:
    section = architecture.split("## Third-party libraries", 1)[1].split("\n## ", 1)[0]
    rows = {}
    for _, headers, where, _ in re.findall(r"^\| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", section, re.M):
        for header in headers.split():
            rows[header] = where.split() if where.strip() != "any .cpp" else [".cpp"]
    return rows


def violations(root: pathlib.Path) -> list[str]:
    rows = table((root / "ARCHITECTURE.md").read_text())
    found = []
    for base in ("src", "include"):
        for path in sorted((root / base).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c"):
                continue
            name = str(path.relative_to(root))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
                if not match or SYSTEM.match(match[1]) or match[1].startswith("fiel/"):
                    continue
                places = rows.get(match[1])
                if places is None:
                    found.append(f"{name}:{number}: <{match[1]}> is not in ARCHITECTURE.md's table")
                elif not any(name == p or (p.endswith("/") and name.startswith(p)) or
                             (p == ".cpp" and name.endswith(".cpp")) for p in places):
                    found.append(f"{name}:{number}: <{match[1]}> may enter only {' '.join(places)}")
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "every third-party header is where it belongs")
    sys.exit(bool(problems))
