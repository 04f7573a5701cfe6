"""bench/counters without a GPU: ncu's CSV, comparing with golden numbers, tasks at one shape.

    test_counters.py [unittest's words]
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "counters"))
import check  # noqa: E402
import comparing  # noqa: E402
import measure  # noqa: E402
import ncu  # noqa: E402

RAW = (HERE / "ncu_raw.csv").read_text()
PLAN = json.loads((ROOT / "bench" / "counters" / "cases.json").read_text())


class NcuText(unittest.TestCase):
    def test_launches_are_found_between_what_others_print(self):
        launches = ncu.read_csv(RAW)
        self.assertEqual([row["ID"] for row in launches], ["0", "1"])
        self.assertEqual(launches[0]["Kernel Name"], "transpose(const float *, float *, long, long)")

    def test_counters_are_summed_over_launches_with_their_weights(self):
        values, missing = ncu.hardware(ncu.read_csv(RAW))
        self.assertEqual(missing, [])
        self.assertEqual(values["load sectors"], 32768 + 200)
        self.assertEqual(values["store requests"], 8192 + 100)
        self.assertEqual(values["atomic requests"], 4)
        self.assertEqual(values["flops"], 10 + 20 + 2 * 5)
        self.assertEqual(values["DRAM bytes read"], 1052672 + 1024)

    def test_units_that_are_not_base_are_scaled(self):
        text = RAW.replace('"byte","byte"', '"Kbyte","byte"').replace('"1,052,672"', '"1,052.672"')
        values, _ = ncu.hardware(ncu.read_csv(text)[:1])
        self.assertEqual(values["DRAM bytes read"], 1052672)

    def test_a_counter_that_is_not_there_is_named_and_no_zero(self):
        for text in (RAW.replace("smsp__inst_executed.sum", "something_else.sum"),
                     RAW.replace('"163,840"', '"n/a"')):
            values, missing = ncu.hardware(ncu.read_csv(text))
            self.assertEqual(missing, ["smsp__inst_executed.sum"])
            self.assertNotIn("warp instructions", values)
            self.assertIn("load sectors", values)

    def test_without_a_table_there_are_no_launches(self):
        for text in ("", "==ERROR== ERR_NVGPUCTRPERM - no permission\n", '"ID"', RAW.split("\n")[4] + "\n\"0\"\n"):
            self.assertEqual(ncu.read_csv(text), [])
            self.assertEqual(ncu.hardware([])[0], {})

    def test_every_cut_of_the_text_is_read_without_a_failure(self):
        for end in range(0, len(RAW), 41):
            ncu.hardware(ncu.read_csv(RAW[:end]))

    def test_what_ncu_complains_about_is_found(self):
        text = "==PROF== hello\n==ERROR== Failed to find metric dram__bytes_write.sum\n"
        self.assertIn("Failed to find", ncu.complaint(text))
        self.assertEqual(ncu.unknown_metrics(text, ncu.METRICS), ["dram__bytes_write.sum"])
        self.assertEqual(ncu.unknown_metrics(RAW, ncu.METRICS), [])

    def test_an_unknown_metric_is_found_in_whatever_form_it_is_named(self):
        metrics = ["flop_count_sp.sum", "flop_count_sp_pred.sum", "a.sum", "b.avg.pct", "launch__waves"]
        for said, unknown in (
                (r"Failed to find metric regex:^flop_count_sp\.(sum|min|max|avg|pct|ratio|max_rate)$", metrics[:1]),
                (r"Failed to find metric regex:^flop_count_sp_pred\.sum$", metrics[1:2]),
                ("Failed to access the following 3 metrics: a.sum, b.avg.pct, launch__waves", metrics[2:]),
                ("Failed to find metric my_flop_count_sp.sum, launch__waves_all, aa", [])):
            self.assertEqual(ncu.unknown_metrics(f"==ERROR== {said}\na.sum\n", metrics), unknown, said)

    def test_every_metric_of_the_plan_has_counters_and_a_reason(self):
        self.assertEqual([m["name"] for m in PLAN["metrics"]], list(ncu.COUNTERS))
        for metric in PLAN["metrics"]:
            self.assertTrue(metric["why"], metric["name"])


def profile(**changes) -> dict:
    counters = {"requests": 8192, "sectors": 32768}
    shared = {"requests": 10, "wavefronts": 320, "ideal_wavefronts": 10}
    total = {"global_loads": dict(counters), "global_stores": dict(counters), "atomics": {"requests": 0},
             "shared_loads": dict(shared), "shared_stores": dict(shared), "flops": 100000,
             "warp_instructions": 163840}
    total.update(changes)
    return {"launches": [{"total": total, "times": 1, "unique_global_bytes_read": 1 << 20,
                          "unique_global_bytes_written": 1 << 20}]}


def plan(**changes) -> dict:
    return {"metrics": PLAN["metrics"], "differs": [], "cases": [{"name": "a", "shape": {"N": 1}}]} | changes


class Comparing(unittest.TestCase):
    def hardware(self, **changes) -> dict:
        return comparing.virtual(profile()) | {k.replace("_", " "): v for k, v in changes.items()}

    def rows(self, the_plan=None, **changes):
        return comparing.compare("a", comparing.virtual(profile()), self.hardware(**changes), the_plan or plan())

    def test_our_counts_have_the_names_of_ncus(self):
        self.assertEqual(list(comparing.virtual(profile())), list(self.hardware()))
        self.assertEqual(set(comparing.virtual(profile())), set(ncu.COUNTERS))
        self.assertEqual(comparing.virtual(profile())["shared load conflicts"], 310)

    def test_equal_launches_that_were_folded_count_each(self):
        folded = profile()
        folded["launches"][0]["times"] = 3
        self.assertEqual(comparing.virtual(folded)["load sectors"], 3 * 32768)

    def test_within_the_tolerance_agrees_and_beyond_it_fails(self):
        self.assertEqual(comparing.failures(self.rows()), [])
        self.assertEqual(comparing.failures(self.rows(load_sectors=32768 * 1.015)), [])
        for sectors in (32768 * 1.05, 32768 * 0.5, 0):
            self.assertEqual([r["metric"] for r in comparing.failures(self.rows(load_sectors=sectors))],
                             ["load sectors"])

    def test_a_few_of_a_prologue_are_no_difference(self):
        self.assertTrue(comparing.agrees(5, 0, 0.02, 0))
        self.assertFalse(comparing.agrees(9, 0, 0.02, 0))

    def test_conflicts_are_a_part_of_wavefronts(self):
        plan = {"differs": [], "metrics": [{"name": "shared load conflicts", "tolerance": 0.05}]}
        theirs = {"shared load wavefronts": 8260, "shared load conflicts": 68}
        for ours, right in ((0, True), (470, True), (500, False)):
            row, = comparing.compare("padded", {"shared load conflicts": ours}, theirs, plan)
            self.assertEqual(row["agrees"], right, ours)

    def test_dram_is_shown_and_never_compared(self):
        rows = self.rows(DRAM_bytes_read=1)
        self.assertEqual(comparing.failures(rows), [])
        self.assertEqual(comparing.state(rows[-2]), "not compared")

    def test_an_understood_difference_is_shown_with_its_reason(self):
        excused = plan(differs=[{"case": "a", "metric": "flops", "why": "erff"}])
        rows = self.rows(excused, flops=1)
        self.assertEqual(comparing.failures(rows), [])
        self.assertIn("erff", "".join(comparing.state(r) for r in rows))
        self.assertIn("no excuse", "".join(comparing.state(r) for r in self.rows(excused)))

    def test_the_table_names_what_differs(self):
        result = {"case": "a", "virtual_status": "correct", "cuda_status": "incorrect", "note": "JUDGED OTHERWISE",
                  "rows": self.rows(load_sectors=1)}
        text = comparing.table([result], "a GPU")
        self.assertIn("| a | correct | incorrect | JUDGED OTHERWISE |", text)
        self.assertIn("| a | load sectors | 32 768 | 1 | 32768.000 | DIFFERS |", text)
        self.assertFalse(measure.is_good(result))


class Golden(unittest.TestCase):
    """The check of ctest, against golden numbers that are made up."""

    def golden(self, **changes) -> dict:
        numbers = comparing.virtual(profile()) | {k.replace("_", " "): v for k, v in changes.items()}
        return {"cases": {"a": {"shape": {"N": 1}, "hardware": numbers}}}

    def problems(self, golden, profiles=None):
        return check.problems(plan(), golden, {"a": profile()} if profiles is None else profiles)

    def test_todays_numbers_hold(self):
        self.assertEqual(self.problems(self.golden()), [])

    def test_a_number_that_moved_is_told(self):
        [problem] = self.problems(self.golden(store_sectors=262144))
        self.assertIn("a: store sectors: 32768 where the GPU has 262144", problem)

    def test_a_case_without_a_profile_or_without_numbers_is_told(self):
        self.assertEqual(self.problems(self.golden(), {}), ["a: no profile"])
        self.assertEqual(self.problems({"cases": {}}), ["a: no golden numbers"])

    def test_another_shape_is_told(self):
        golden = self.golden()
        golden["cases"]["a"]["shape"] = {"N": 2}
        self.assertIn("other shape", self.problems(golden)[0])


class Tasks(unittest.TestCase):
    def test_every_case_has_its_files_and_its_task_takes_the_shape(self):
        for case in PLAN["cases"]:
            self.assertTrue((ROOT / case["kernel"]).is_file(), case["kernel"])
            text = measure.task_at((ROOT / case["task"]).read_text(), case["shape"])
            self.assertEqual(text.count("[shapes]"), 1)
            self.assertIn("counters = {", text)
            self.assertNotIn("irregular", text)
            for symbol in case["shape"]:
                self.assertIn(f'"{symbol}"', text)

    def test_a_task_without_shapes_is_refused(self):
        with self.assertRaises(ValueError):
            measure.task_at('name = "x"\n', {"N": 1})

    def test_what_follows_the_shapes_stays(self):
        text = measure.task_at('[shapes]\na = { N = 1 }\n\n[other]\nb = 1\n', {"N": 7})
        self.assertEqual(text, "[shapes]\ncounters = { N = 7 }\n[other]\nb = 1\n")


class Robust(unittest.TestCase):
    """Whatever fails is a row."""

    def test_ncu_has_a_minute_a_case(self):
        limits = []
        m = types.SimpleNamespace(metrics=ncu.METRICS, options=types.SimpleNamespace(ncu="ncu"),
                                  folder=lambda case: pathlib.Path("a"),
                                  run=lambda log, words, most_s: limits.append(most_s))
        self.assertEqual(measure.Measurement.count(m, {"name": "a"}), ({}, "ncu: no time left"))
        self.assertEqual(limits, [60])

    def measurement(self, **done):
        return types.SimpleNamespace(count=lambda case: done.get("count", ({}, "ncu: exit code 1, no launch")))

    def result(self, **done):
        steps = {("a", k): v for k, v in {"build": True, "profile": profile(), "virtual": "correct",
                                          "cuda": "correct"}.items()}
        steps |= {("a", k): v for k, v in done.items()}
        return measure.result_of(self.measurement(), plan(), {"name": "a", "shape": {"N": 1}}, steps)

    def test_each_failure_is_said_and_gives_no_golden_numbers(self):
        for done, words in (({"build": False}, "does not build"), ({"profile": None}, "no profile"),
                            ({"cuda": "no time left"}, "JUDGED OTHERWISE"), ({}, "no launch"),
                            ({"profile": ValueError("x")}, "no profile")):
            result, golden = self.result(**done)
            self.assertIn(words, result["note"])
            self.assertEqual(golden, {})
            self.assertFalse(measure.is_good(result))
            comparing.table([result], "")


FAKE_FIEL = """
import json, sys
if sys.argv[1] == "judge":
    if sys.argv[-2:] != ["--time-budget", "0"]:
        sys.exit("nobody asked for times")
    print(json.dumps({"status": "incorrect" if "gather" in sys.argv[3] and "cuda:0" in sys.argv else "correct"}))
elif "welford" in sys.argv[3]:
    sys.exit("no profile of this one")
else:
    print(json.dumps({"profiles": [PROFILE]}))
"""
FAKE_NVCC = """
import sys
sys.exit("strided" in " ".join(sys.argv))
"""
FAKE_NCU = """
import sys, time
program = sys.argv[-2]
if "atomics" in program:
    sys.exit("==ERROR== ERR_NVGPUCTRPERM: no permission")
if "dram__bytes_write.sum" in " ".join(sys.argv):
    sys.exit("==ERROR== Failed to find metric dram__bytes_write.sum")
print(RAW.replace("dram__bytes_write.sum", "not.asked"))
"""


class Whole(unittest.TestCase):
    """The whole measurement with tools that answer from a file, some of them badly."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("fiel", f"PROFILE = {profile()!r}" + FAKE_FIEL), ("nvcc", FAKE_NVCC),
                           ("ncu", f"RAW = {RAW!r}" + FAKE_NCU)):
            path = self.folder / name
            path.write_text(f"#!{sys.executable}\n{text}")
            path.chmod(0o755)

    def run_with(self, *more):
        words = [sys.executable, ROOT / "bench" / "counters" / "measure.py", "--out", self.folder / "out", *more]
        for tool in ("fiel", "nvcc", "ncu"):
            words += [f"--{tool}", self.folder / tool]
        return subprocess.run([str(w) for w in words], capture_output=True, text=True)

    def test_each_failure_is_a_row_and_the_others_are_counted(self):
        done = self.run_with()
        self.assertEqual(done.returncode, 1, done.stderr)
        golden = json.loads((self.folder / "out" / "h200.json").read_text())
        failed = {"strided", "layernorm", "atomics"}
        self.assertEqual(set(golden["cases"]), {c["name"] for c in PLAN["cases"]} - failed)
        self.assertNotIn("DRAM bytes written", golden["cases"]["coalesced"]["hardware"])
        self.assertEqual(golden["cases"]["coalesced"]["hardware"]["load sectors"], 32968)
        table = (self.folder / "out" / "counters.md").read_text()
        for line in ("| strided | correct | correct | the driver does not build |",
                     "| layernorm | correct | correct | no profile |", "ERR_NVGPUCTRPERM",
                     "| gather | correct | incorrect | JUDGED OTHERWISE; 2 launches without dram__bytes_write.sum |",
                     "| coalesced | load sectors | 32 768 | 32 968 | 0.994 | agrees |"):
            self.assertIn(line, table)

    def test_without_time_everything_is_still_a_row(self):
        done = self.run_with("--limit-s", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        table = (self.folder / "out" / "counters.md").read_text()
        for case in PLAN["cases"]:
            self.assertIn(f"| {case['name']} | no time left | no time left |", table)


if __name__ == "__main__":
    unittest.main()
