"""The house checks can fail: each finds a violation planted in a copy of the tree."""
import pathlib
import shutil
import sys
import tempfile

import check_cases
import check_docs
import check_examples
import check_format
import check_hostile
import check_layers
import check_text
import check_third_party
import check_types

root = pathlib.Path(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder)
    for name in ("src", "include", "docs"):
        shutil.copytree(root / name, copy / name)
    for name in ("ARCHITECTURE.md", "README.md", ".clang-format"):
        shutil.copy(root / name, copy / name)

    def planted(check, path, text):
        target = copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        before = set(check(copy))
        target.write_text(text)
        new = set(check(copy)) - before
        target.unlink()
        assert any(path in line for line in new), f"{check.__module__} {check.__name__} missed {path}: {new}"

    planted(check_layers.violations, "src/base/planted.cpp", '#include "judge/verdict.h"\n')
    planted(check_layers.violations, "src/ptx/planted.h", '#include "vgpu/device.h"\n')
    planted(check_third_party.violations, "src/judge/planted.cpp", "#include <nlohmann/json.hpp>\n")
    planted(check_third_party.violations, "src/judge/planted.h", "#include <fmt/core.h>\n")
    planted(check_third_party.violations, "src/judge/planted.cpp", "#include <boost/any.hpp>\n")
    planted(check_types.violations, "src/ptx/planted.h", "namespace fiel {\nclass Json {};\n}\n")
    planted(check_text.violations, "src/base/planted.cpp", "// TO" "DO: later\n")
    if check_format.formatter():  # a small folder is enough
        planted(lambda root: check_format.violations(root, ["src/base"]), "src/base/planted.cpp", "int  x;\n")
    planted(check_docs.violations, "docs/planted.md", "See [this](nowhere.md).\n")
    for name in ("tests/vgpu", "tests/cli"):
        shutil.copytree(root / name, copy / name)
    page = copy / "tests/vgpu/README.md"
    text = page.read_text()
    for old, new in (("`cases/vadd4`", "`cases/none`"), ("| VP-03 |", "| VP-04 |"),
                     ("`Shuffle.KnownPatterns`", "`Shuffle.NoPatterns`")):
        before = set(check_cases.violations(copy))
        page.write_text(text.replace(old, new))
        assert set(check_cases.violations(copy)) - before, f"check_cases missed {new}"
        page.write_text(text)
    for name in ("tests/hostile", "tests/python", "tests/worker", "tests/sandbox", "tests/judge", "exploits"):
        shutil.copytree(root / name, copy / name)
    page = copy / "tests/hostile/README.md"
    text = page.read_text()
    for old, new in (("`HostileTest.ItSeesNoOtherProcess`", "`HostileTest.ItSeesAll`"),
                     ("| `state/global_flags` | `state/global_flags` |", "| `state/global_flags` | none |"),
                     ("| two answers to one request | `wire/answered_twice` | `wire/answered_twice` |\n", "")):
        before = set(check_hostile.violations(copy))
        assert old in text
        page.write_text(text.replace(old, new))
        assert set(check_hostile.violations(copy)) - before, f"check_hostile missed {new!r}"
        page.write_text(text)
    for name in ("examples", "tasks"):
        shutil.copytree(root / name, copy / name)
    planted(check_examples.violations, "examples/softmax/planted.cu", "// no entry\n")
    planted(check_examples.violations, "examples/planted/expect.toml", 'task = "tasks/none.toml"\n')
    planted(check_examples.violations, "examples/planted/kernel.cu", "// no expect.toml\n")
    page = copy / "examples/gelu_bias_residual/expect.toml"
    text = page.read_text()
    for old, new in (('"simple.cu"', '"simpel.cu"'), ('status = "timeout"', 'status = ["timeout", "incorrect"]'),
                     ("finding =", "findings =")):
        assert old in text
        page.write_text(text.replace(old, new, 1))
        assert check_examples.violations(copy), f"check_examples missed {new!r}"
        page.write_text(text)
print("every planted violation was found")
