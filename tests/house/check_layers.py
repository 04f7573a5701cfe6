"""Areas include only what ARCHITECTURE.md's table allows.

    check_layers.py ROOT      exit 1 and one line a violation
"""
import pathlib
import re
import sys


def allowed_includes(architecture: str) -> dict[str, set[str]]:
    """area -> areas it may include, from the table under '## Areas'."""
    section = architecture.split("## Areas", 1)[1].split("\n## ", 1)[0]
    table = {}
    for row in re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", section, re.M):
        table[row[0]] = set(row[1].split()) | {row[0]}
    return table


def violations(root: pathlib.Path) -> list[str]:
    table = allowed_includes((root / "ARCHITECTURE.md").read_text())
    found = []
    for folder in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        if folder.name not in table:
            found.append(f"src/{folder.name}: not in ARCHITECTURE.md's table of areas")
    for area in table:
        for other in table[area]:
            if other not in table:
                found.append(f"ARCHITECTURE.md: {area} may include {other}, which is no area")
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".c", ".inc") or path.parent == root / "src":
            continue
        area = path.relative_to(root / "src").parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match or "/" not in match[1]:
                continue
            target = match[1].split("/")[0]
            if target in table and target not in table.get(area, set()):
                found.append(f"{path.relative_to(root)}:{number}: {area} may not include {match[1]}")
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "every include is allowed")
    sys.exit(bool(problems))
