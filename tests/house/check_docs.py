"""Links and paths in README and docs lead somewhere.

    check_docs.py ROOT
"""
import pathlib
import re
import sys


def violations(root: pathlib.Path) -> list[str]:
    found = []
    pages = [p for p in root.glob("*.md")] + sorted((root / "docs").rglob("*.md"))
    for page in pages:
        text = page.read_text()
        name = str(page.relative_to(root))
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            if not (page.parent / target).exists():
                found.append(f"{name}: link to {target}, which does not exist")
        for path in re.findall(r"`((?:src|tests|docs|tasks|examples|bench|include|exploits)/[\w./-]*\w)`", text):
            if not (root / path).exists():
                found.append(f"{name}: names {path}, which does not exist")
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "every link and path exists")
    sys.exit(bool(problems))
