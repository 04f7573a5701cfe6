"""The clock against honest and hostile runners, on the CPU (docs/torch-workers.md#clock)."""

import multiprocessing
import os
import statistics
import types
import unittest
from unittest import mock

from clock_harness import Descriptors, SimpleOracle, torch
import clock_runner
from fiel_worker import control
from fiel_worker.channel import Fault
from fiel_worker.oracle import timed_checks
from fiel_worker.oracle.flush import CacheFlush
from fiel_worker.oracle.snapshot import Snapshot

torch.set_num_threads(1)  # runners are forked: no thread may hold a lock then
WORK_NS = clock_runner.WORK_S * 1e9


class Timed(unittest.TestCase):
    def setUp(self):
        self.oracle, self.processes, self.control = SimpleOracle(), [], []
        self.meeting = clock_runner.meeting = clock_runner.Meeting()

    def tearDown(self):
        for process in self.processes:
            process.kill()
            process.join()
        for descriptor in self.control:
            os.close(descriptor)

    def start(self, behaviour: str, trusted: bool = False, count: int = 3, laid=None,
              gauge=False) -> dict:
        laid = laid or self.lay_out(count)
        inputs, outputs, slots = laid
        self.control.append(control.create_page())
        windows = [(w.bytes, w.descriptor) for w in map(self.oracle.windows.get, (inputs, outputs))]
        process = multiprocessing.get_context("fork").Process(
            target=clock_runner.run, args=(behaviour, self.control[-1], *windows, slots["layout"])
        )
        process.start()
        self.processes.append(process)
        return {"slots": slots["slots"], "trusted": trusted, "control": len(self.control) - 1,
                "gauge": gauge}

    def lay_out(self, count: int) -> tuple:
        size = self.oracle.op_slots({"case": 1, "count": count}, None)
        inputs = self.oracle.window(size["inputs_bytes"])
        outputs = self.oracle.window(size["outputs_bytes"])
        laid = self.oracle.op_slots(
            {"case": 1, "count": count, "inputs_window": inputs, "outputs_window": outputs}, None
        )
        return inputs, outputs, laid

    def time(self, *behaviours: str, **options) -> dict:
        """The trusted runner 'honest' or 'slow' first, then those under test."""
        count, gauge = options.pop("count", 3), options.pop("gauge", None)
        runners = [self.start(b, i in (0, gauge), count, gauge=i == gauge)
                   for i, b in enumerate(behaviours)]
        return self.time_of(runners, **options)

    def time_of(self, runners: list[dict], **options) -> dict:
        message = {
            "case": 1, "runners": runners, "seed": 4711, "samples_max": 24, "warmup": 1,
            "verify_share": 0.5, "budget_ms": 60_000, "call_timeout_ms": 5000, "hold_timeout_ms": 5000,
        }
        return self.oracle.op_time(message | options, Descriptors(self.control))

    def failed(self, reply: dict, runner: int) -> list[dict]:
        return [f for f in reply["failures"] if f["runner"] == runner]

    def credited(self, reply: dict, runner: int) -> float:
        """(median wall − G) / calls, with G of the trusted runner 0 (docs/timing-statistics.md)."""
        of = lambda n: [s for s in reply["samples"] if s["runner"] == n]
        gap = statistics.median(s["wall_ns"] - s["device_ns"] * reply["calls"] for s in of(0))
        return (statistics.median(s["wall_ns"] for s in of(runner)) - gap) / reply["calls"]

    def meet_after(self, owner, function: str) -> list[bool]:
        """A runner that comes to a meeting acts after each call of the oracle's function. Whether
        one did, call by call."""
        inner, met = getattr(owner, function), []

        def outer(instance):
            inner(instance)
            met.append(self.meeting.meets())

        patch = mock.patch.object(owner, function, outer)
        patch.start()
        self.addCleanup(patch.stop)
        return met


class ClockTest(Timed):
    def test_honest_runners_pass_in_every_verified_call(self):
        reply = self.time("honest", "honest")
        self.assertEqual(reply["failures"], [])
        self.assertEqual([r["ended"] for r in reply["runners"]], [None, None])
        self.assertEqual(len(reply["samples"]), 48)
        verified = [s for s in reply["samples"] if s["verified"]]
        self.assertGreater(len(verified), 8)
        self.assertLess(len(verified), 48)
        self.assertTrue(all(0 < s["device_ns"] <= s["wall_ns"] for s in reply["samples"]))

    def test_runners_take_turns_a_b_b_a(self):
        reply = self.time("honest", "honest", "honest", samples_max=4)
        order = [s["runner"] for s in reply["samples"]]
        self.assertIn(order, ([0, 1, 2, 2, 1, 0] * 2, [2, 1, 0, 0, 1, 2] * 2))

    def test_batches_are_distinct_inputs_all_of_which_count(self):
        reply = self.time("honest", "right_ten_times", calls=3, samples_max=10, verify_share=1)
        self.assertEqual(reply["calls"], 3)
        self.assertEqual(reply["runners"][1]["calls"], 31)
        self.assertTrue(self.failed(reply, 1))
        self.assertFalse(self.failed(reply, 0))

    def test_a_clock_goes_on_where_its_last_chunk_ended(self):
        first = self.time("honest", "honest", samples_max=5, leave=False)
        rest = self.oracle.op_time(
            {"op": "time", "clock": first["clock"], "samples_max": 3, "calls": 2}, None
        )
        rounds = lambda reply: sorted({s["round"] for s in reply["samples"]})
        self.assertEqual(rounds(first) + rounds(rest), list(range(1, 9)))
        self.assertEqual(rest["failures"], [])
        for process in self.processes:
            process.join(60)
            self.assertEqual(process.exitcode, 0)

    def test_a_short_claim_is_worth_the_wall_time(self):
        reply = self.time("slow", "short_claims", samples_max=9)
        self.assertEqual({s["device_ns"] for s in reply["samples"] if s["runner"] == 1}, {1.0})
        self.assertGreater(self.credited(reply, 1), WORK_NS / 4)

    def test_a_claim_that_comes_too_late_is_none(self):
        reply = self.time("honest", "never_reports", samples_max=1, warmup=0)
        (late,) = [s for s in reply["samples"] if s["runner"] == 1]
        self.assertEqual((late["device_ns"], late["failed"]), (0.0, False))
        self.assertGreater(late["wall_ns"], 0)

    def test_forged_timers_move_nothing(self):
        reply = self.time("slow", "forged_timers", samples_max=9)
        self.assertGreater(self.credited(reply, 1), WORK_NS / 4)

    def test_memoised_outputs_fail_in_the_timed_phase(self):
        found = self.failed(self.time("honest", "memo"), 1)
        self.assertTrue(found)
        self.assertGreater(found[0]["outputs"][0]["failing"], 0)

    def test_right_ten_times_names_the_call(self):
        found = self.failed(self.time("honest", "right_ten_times", verify_share=1), 1)
        self.assertEqual(found[0]["call"], 11)
        self.assertEqual(found[0]["outputs"][0]["failing"], 1)

    def test_done_before_the_work_is_done_fails(self):
        self.meet_after(Snapshot, "look_again")
        found = self.failed(self.time("honest", "early_done", samples_max=8, verify_share=1), 1)
        self.assertTrue(found)

    def test_outputs_that_arrive_after_done_fail_without_being_verified(self):
        self.meet_after(Snapshot, "look_again")
        reply = self.time("honest", "early_done", samples_max=12, verify_share=0)
        late = [s for s in reply["samples"] if s["runner"] == 1 and s["failed"] and not s["verified"]]
        self.assertEqual(len(late), 12)
        self.assertTrue(any(f["missing_at_done"] for f in self.failed(reply, 1)))
        self.assertFalse(self.failed(reply, 0))

    def test_late_outputs_fail_also_where_something_was_put_over_the_poison(self):
        self.meet_after(Snapshot, "look_again")
        reply = self.time("honest", "memset_first", samples_max=8, verify_share=0)
        found = self.failed(reply, 1)
        self.assertTrue(any(f["changed_after_done"] for f in found))
        failed = [s for s in reply["samples"] if s["failed"]]
        self.assertEqual(({s["runner"] for s in failed}, len(failed)), ({1}, 8))

    def test_an_output_left_out_in_part_fails_in_the_same_call(self):
        reply = self.time("honest", "leaves_some", samples_max=6, verify_share=0)
        failed = {s["runner"] for s in reply["samples"] if s["failed"]}
        self.assertEqual((failed, len(self.failed(reply, 1))), ({1}, 6))
        self.assertGreater(self.failed(reply, 1)[0]["missing_at_done"], 0)

    def test_outputs_in_one_buffer_are_read_before_the_next_call(self):
        reply = self.time("queued", "queued_one_buffer", calls=3, samples_max=6, held=True,
                          verify_share=1)
        self.assertEqual((reply["failures"], reply["mode"]), ([], "held"))

    def test_comparisons_take_half_of_the_budget_at_most(self):
        quick, now_ns = self.oracle.verify_outputs, [0]

        def ten_seconds(*arguments):
            now_ns[0] += 10 * 10**9
            return quick(*arguments)

        self.oracle.verify_outputs = ten_seconds
        clock = types.SimpleNamespace(perf_counter_ns=lambda: now_ns[0])
        with mock.patch.object(timed_checks, "time", clock):
            reply = self.time("honest", "honest", budget_ms=60_000, verify_share=1, samples_max=8)
        verified = sum(s["verified"] for s in reply["samples"])
        self.assertEqual((verified, reply["unverified_for_time"]), (3, 5))
        self.assertFalse(any(s["verified"] for s in reply["samples"] if s["runner"] == 0))

    def test_trusted_sides_may_share_their_slots(self):
        laid = self.lay_out(4)
        both = [self.start("honest", True, laid=laid) for _ in range(2)]
        reply = self.time_of([self.start("honest", count=4), *both], samples_max=8, calls=2)
        self.assertEqual((reply["failures"], len(reply["samples"])), ([], 24))
        self.assertFalse(any(s["failed"] for s in reply["samples"]))

    def test_a_candidate_shares_its_slots_with_nobody(self):
        laid = self.lay_out(3)
        runners = [self.start("honest", trusted, laid=laid) for trusted in (True, False)]
        with self.assertRaisesRegex(Fault, "its own"):
            self.time_of(runners)

    def test_a_dead_runner_ends_alone(self):
        reply = self.time("honest", "dies")
        self.assertEqual(reply["runners"][1]["ended"], "the runner ended in call 5")
        self.assertEqual(len([s for s in reply["samples"] if s["runner"] == 0]), 24)

    def test_a_hanging_runner_ends_by_its_deadline(self):
        reply = self.time("honest", "hangs", call_timeout_ms=5000, samples_max=10)
        self.assertEqual(reply["runners"][1]["ended"], "call 5 took longer than 5000 ms")
        self.assertIsNone(reply["runners"][0]["ended"])

    def test_a_raising_runner_ends_with_a_reason(self):
        for behaviour in ("raises", "other_shape"):
            with self.subTest(behaviour):
                reply = self.time("honest", behaviour, samples_max=4)
                self.assertEqual(reply["runners"][1]["ended"], "call 1 raised an error")
                self.tearDown()
                self.setUp()

    def test_a_runner_that_never_enters_ends_with_a_reason(self):
        reply = self.time("honest", "never_enters", entry_timeout_ms=5000, samples_max=4)
        self.assertIn("did not enter", reply["runners"][1]["ended"])
        self.assertEqual(len(reply["samples"]), 4)

    def test_a_runner_cannot_shrink_the_page_under_the_oracle(self):
        reply = self.time("honest", "shrinks_its_page", samples_max=6)
        self.assertIsNone(reply["runners"][1]["ended"])
        self.assertEqual(reply["failures"], [])


class HeldTest(Timed):
    """Calls that are queued before the clock starts."""

    def held(self, *behaviours, **options) -> dict:
        options = {"held": True, "calls": 3, "samples_max": 8} | options
        return self.time(*behaviours, **options)

    def test_queued_calls_are_right_and_timed_from_the_release(self):
        reply = self.held("queued_slow", "queued_slow", samples_max=4)
        self.assertEqual((reply["mode"], reply["mode_why"], reply["calls"]), ("held", None, 3))
        self.assertEqual(reply["failures"], [])
        self.assertEqual(len(reply["samples"]), 8)
        self.assertTrue(all(s["wall_ns"] > 3 * WORK_NS for s in reply["samples"]))

    def test_what_waits_for_its_own_results_is_timed_unheld_and_called_so(self):
        reply = self.held("queued", "synchronises", hold_timeout_ms=1000)
        self.assertEqual((reply["mode"], reply["calls"]), ("unheld", 1))
        self.assertIn("runner 1: it does not queue 1 call", reply["mode_why"])
        self.assertEqual(reply["failures"], [])
        self.assertEqual(len(reply["samples"]), 16)

    def test_a_device_that_cannot_wait_is_timed_unheld(self):
        reply = self.held("honest", "queued")
        self.assertEqual(reply["mode"], "unheld")
        self.assertIn("runner 0: its device cannot wait", reply["mode_why"])

    def test_a_short_queue_gets_shorter_batches(self):
        reply = self.held("queued", "short_queue", calls=8, count=8, hold_timeout_ms=1000)
        self.assertEqual((reply["mode"], reply["calls"]), ("held", 2))
        self.assertIn("runner 1: it does not queue 8 calls", reply["mode_why"])
        self.assertEqual(reply["failures"], [])

    def test_work_before_the_release_is_work_on_other_inputs(self):
        met = self.meet_after(CacheFlush, "__call__")
        for behaviour in ("runs_ahead", "peeks"):
            with self.subTest(behaviour):
                reply = self.held("queued", behaviour)
                self.assertEqual(reply["mode"], "unheld")
                self.assertIn("runner 1: its answer to a held call is wrong", reply["mode_why"])
                self.assertEqual(reply["failures"], [])
                self.assertEqual(any(met), behaviour == "peeks")
                self.tearDown()
                self.setUp()

    def test_a_runner_that_turns_hostile_once_it_is_held_fails(self):
        met = self.meet_after(CacheFlush, "__call__")
        reply = self.held("queued", "peeks_later", samples_max=12, verify_share=1)
        self.assertEqual(reply["mode"], "held")
        self.assertTrue(any(met))
        self.assertTrue(self.failed(reply, 1))
        self.assertFalse(self.failed(reply, 0))

    def test_held_and_unheld_chunks_of_one_clock(self):
        first = self.held("queued", "queued", leave=False, samples_max=3)
        rest = self.oracle.op_time({"clock": first["clock"], "samples_max": 3, "calls": 2}, None)
        self.assertEqual([first["mode"], rest["mode"], rest["calls"]], ["held", "unheld", 2])
        self.assertEqual(first["failures"] + rest["failures"], [])


class GaugeTest(Timed):
    """A runner that computes nothing is timed like the others and never judged."""

    def test_its_answers_are_nobodys_fault(self):
        for behaviour, how in (("zeros", {}), ("queued_zeros", {"held": True, "calls": 2})):
            with self.subTest(behaviour):
                honest = "queued" if how else "honest"
                reply = self.time(honest, honest, behaviour, gauge=2, samples_max=6, verify_share=1, **how)
                self.assertEqual(reply["failures"], [])
                self.assertEqual(reply["mode"], "held" if how else "unheld")
                of = [s for s in reply["samples"] if s["runner"] == 2]
                self.assertEqual(len(of), 6)
                self.assertTrue(all(s["wall_ns"] > 0 and not s["failed"] for s in of))
                self.assertEqual(reply["runners"][2]["verified"], 0)
                self.assertGreater(reply["runners"][1]["verified"], 0)
                self.tearDown()
                self.setUp()

    def test_the_same_answers_without_the_word_fail(self):
        reply = self.time("honest", "zeros", samples_max=6, verify_share=1)
        self.assertTrue(self.failed(reply, 1))

    def test_it_keeps_no_clock_going(self):
        reply = self.time("dies", "honest", "zeros", gauge=2, samples_max=12)
        self.assertIn("ended", reply["runners"][0]["ended"])
        self.assertLess(reply["rounds"], 12)


class ControlPageTest(unittest.TestCase):
    def test_times_that_cannot_be_are_zero(self):
        page = control.ControlPage(control.create_page())
        for claim in (float("nan"), float("inf"), -5.0, 1e300):
            page.reals[control.DEVICE_NS] = claim
            self.assertEqual(page.claim_ns(control.DEVICE_NS), 0.0)
        page.close()


if __name__ == "__main__":
    unittest.main()
