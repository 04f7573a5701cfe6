"""A type has one definition: two of the same name in one namespace break the one-definition rule.

The linker keeps one destructor of the two and tells nobody. Types in unnamed namespaces and the
standalone programs are apart.

    check_types.py ROOT      exit 1 and one line a violation
"""
import pathlib
import re
import sys
from collections import defaultdict

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
TOKEN = re.compile(
    r"namespace\s*(?P<namespace>[\w:]*)\s*\{"
    r"|\b(?:struct|class|enum\s+class|enum)\s+(?:alignas\([^)]*\)\s*)?(?P<type>[A-Za-z_]\w*)(?!::)"
    r"(?:\s+final)?\s*(?::(?!:)[^;{(]*)?\{"
    r"|[{}]")


def types_of(text: str) -> list[str]:
    """The qualified names of the types defined at the level of named namespaces."""
    scopes, found = [], []
    for match in TOKEN.finditer(NOISE.sub('""', text)):
        if match[0] == "}":
            if scopes:
                scopes.pop()
        elif match["type"]:
            if scopes and all(scopes):
                found.append("::".join([*scopes, match["type"]]))
            scopes.append("")
        else:
            scopes.append(match["namespace"] or "")
    return found


def violations(root: pathlib.Path) -> list[str]:
    places = defaultdict(list)
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in (".h", ".cpp") and "standalone" not in path.parts:
            for name in types_of(path.read_text()):
                places[name].append(str(path.relative_to(root)))
    return [f"{name} is defined in {' and in '.join(files)}"
            for name, files in places.items() if len(files) > 1]


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "every type has one definition")
    sys.exit(bool(problems))
