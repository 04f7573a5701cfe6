"""Packs Fiel's Python package: the same sources give the same bytes on every machine.

    pack_python.py SOURCE_FOLDER OUT.zip
"""

import pathlib
import sys
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)


def pack(source: pathlib.Path, out: pathlib.Path) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(source.rglob("*.py")):
            entry = zipfile.ZipInfo(path.relative_to(source).as_posix(), EPOCH)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, path.read_bytes())


if __name__ == "__main__":
    pack(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
