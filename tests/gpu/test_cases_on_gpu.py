"""cases_on_gpu on the virtual GPU and on a GPU that is made up, with cases that hang, fault and are wrong
beside those that are right.

    test_cases_on_gpu.py PROGRAM FAKE_DRIVER
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = DRIVER = ""
KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 y, .param .u32 offset)
{
  .reg .b32 %r<4>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [y]; ld.param.u32 %r1, [offset];
  mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; cvt.u64.u32 %rd3, %r1;
  add.u64 %rd2, %rd2, %rd3; add.u64 %rd4, %rd1, %rd2;
  add.u32 %r3, %r2, 5; st.global.u32 [%rd4], %r3;
  ret;
}
.visible .entry hang()
{
FOREVER:
  bra FOREVER;
}
"""
ADD = """{top}[buffers]
y = {{count = 4}}
left_out = {{count = 1, fill = "constant", differs = "a clock"}}
[[launch]]
kernel = "add"
block = [4, 1, 1]
args = ["y", "i32:{offset}"]
[expect]
[[expect.buffer]]
name = "y"
values = [{value}, 6, 7, 8]
"""


# A module for the driver of tests/device/fake: kernels and the sizes of their parameters.
FAKE_MODULE = ".target sm_90\nfill 8 4 4\nillegal\nhang\nrefuse\n"
FAKE = """[buffers]
y = {{type = "u32", count = 4}}
[[launch]]
kernel = "{kernel}"
block = [4, 1, 1]
args = ["y", "i32:{value}", "i32:3"]
[expect]
[[expect.buffer]]
name = "y"
values = [7, 7, 7, 0xffffffff]
"""


class CasesOnGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fiel-test-cases")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def case(self, name, top="", offset=0, value=5, text=None):
        (self.root / "cases" / name).mkdir(parents=True)
        (self.root / "cases" / name / "kernel.ptx").write_text(KERNEL)
        text = text or ADD.format(top=top, offset=offset, value=value)
        (self.root / "cases" / name / "case.toml").write_text(text)

    def fake_case(self, name, kernel="fill", value=7):
        self.case(name, text=FAKE.format(kernel=kernel, value=value))
        (self.root / "cases" / name / "kernel.ptx").write_text(FAKE_MODULE)

    def run_cases(self, *words, device="virtual:avx2", **environment):
        return subprocess.run([PROGRAM, "--device", device, "--cases", self.root / "cases", *words],
                              capture_output=True, text=True, env=os.environ | environment)

    def run_on_fake_gpu(self, *words, **environment):
        if not (self.root / "libcuda.so.1").exists():
            (self.root / "libcuda.so.1").symlink_to(DRIVER)
        return self.run_cases(*words, device="cuda", LD_LIBRARY_PATH=str(self.root), **environment)

    def record(self, *words):
        path = self.root / "record.txt"
        done = self.run_cases("--record", path, *words)
        return done, [line.split()[:3] for line in path.read_text().splitlines() if line[0] != "#"]

    def test_a_case_that_hangs_faults_or_is_wrong_takes_no_other_along(self):
        self.case("adds")
        self.case("faults", offset=8192)
        self.case("hangs", text='[[launch]]\nkernel = "hang"\nbudget = 1000000000000000\n[expect]\n')
        self.case("left-out", top='virtual_only = "who writes last is not decided"\n')
        self.case("lies", value=6)
        self.case("zeros")
        done, lines = self.record("--seconds", "5")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        failed = [line for line in done.stderr.splitlines() if line.startswith("FAILED ")]
        self.assertEqual(len(failed), 3, done.stderr)
        self.assertRegex(failed[0], "FAILED faults: .*add is faulted: .*out-of-bounds")
        self.assertEqual(failed[1], "FAILED hangs: it hangs")
        self.assertRegex(failed[2], r"FAILED lies: y\[0\] is 0x5, expected 0x6")
        names = ["adds", "lies", "zeros"]
        self.assertEqual(lines, [[n, "kernel.ptx", what] for n in names for what in ("y", "(printed)")])

    def test_a_context_that_is_lost_takes_no_other_case_along(self):
        self.fake_case("a-fill")
        self.fake_case("b-fault", kernel="illegal")
        self.fake_case("c-fill")
        self.fake_case("d-hang", kernel="hang")
        self.fake_case("e-refused", kernel="refuse")
        self.fake_case("f-wrong", value=8)
        self.fake_case("g-fill")
        done = self.run_on_fake_gpu("--seconds", "4")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        failed = [line for line in done.stderr.splitlines() if line.startswith("FAILED ")]
        self.assertEqual(len(failed), 4, done.stderr)
        self.assertRegex(failed[0], "FAILED b-fault: .*illegal is faulted: .*CUDA_ERROR_ILLEGAL_ADDRESS")
        self.assertRegex(failed[1], "FAILED d-hang: .*hang is still running")
        self.assertRegex(failed[2], "FAILED e-refused: .*refuse is invalid")
        self.assertRegex(failed[3], r"FAILED f-wrong: y\[0\] is 0x8, expected 0x7")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "# tests/vgpu/cases on Fake GPU, compute capability 9.0")
        buffers = [line.split() for line in lines if line.split()[2] == "y"]
        self.assertEqual([b[0] for b in buffers], ["a-fill", "c-fill", "f-wrong", "g-fill"])
        self.assertEqual(buffers[0][5:], ["00000007"] * 3 + ["ffffffff"])

    def test_where_there_is_no_gpu_it_is_skipped(self):
        self.fake_case("fill")
        done = self.run_on_fake_gpu(FAKE_CUDA_NO_DEVICE="1")
        self.assertEqual(done.returncode, 77)
        self.assertRegex(done.stdout, "^skipped: ")

    def test_what_differs_is_named_and_what_is_new_is_said(self):
        self.case("adds")
        self.case("zeros")
        golden = self.root / "golden.txt"
        done = self.run_cases("--compare", golden)
        self.assertEqual(done.returncode, 77)
        self.assertIn(f"no golden text recorded yet: {golden}", done.stdout)
        self.record("--case", "adds")
        text = (self.root / "record.txt").read_text()
        golden.write_text(text)
        done = self.run_cases("--compare", golden)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("not recorded yet: zeros kernel.ptx y\n", done.stdout)
        golden.write_text(text.replace("y 16 ", "y 16 0000")[:-5] + "\n")
        self.assertIn("golden.txt:2: not a record", self.run_cases("--compare", golden).stdout)
        golden.write_text("adds kernel.ptx y 16 0123456789abcdef 00000005\n")
        done = self.run_cases("--compare", golden)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "DIFFERS adds kernel.ptx y: 16 [0-9a-f]{16} 00000005 00000006 .*, recorded 16 0123")
        golden.write_text("gone kernel.ptx y 16 0123456789abcdef 00000005\n")
        self.assertIn("DIFFERS gone kernel.ptx y: recorded, and not there any more", self.run_cases("--compare", golden).stdout)
        self.assertEqual(self.run_cases("--compare", golden, "--case", "adds").returncode, 0)

    def test_what_is_left_out_is_listed_with_its_reason(self):
        self.case("adds")
        self.case("left-out", top='virtual_only = "who writes last is not decided"\n')
        done = self.run_cases("--list")
        self.assertEqual(done.stdout, "adds\nleft-out: left out: who writes last is not decided\n1 run, 1 are left out\n")

    def test_words_that_it_does_not_know(self):
        for words in (["--device"], ["--devise", "cuda"], ["--device", "gpu"]):
            done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("usage: cases_on_gpu", done.stderr)


if __name__ == "__main__":
    PROGRAM, DRIVER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
