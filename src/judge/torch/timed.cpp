#include "judge/torch/timed.h"

#include "base/text.h"
#include "judge/course.h"
#include "judge/time_limit.h"
#include "judge/torch/accounts.h"
#include "judge/torch/measuring.h"

namespace fiel::judge::torch {
namespace {

void judge_track(TorchCourse& course) {
  Verdict& v = course.verdict();
  const Track track = course.request().track;
  const auto why = track_violation(v.measurement->launched.kernels, track);
  if (!why || course.decided()) return;
  const JudgeFinding kind =
      track == Track::own ? JudgeFinding::library_kernels : JudgeFinding::own_kernels;
  course.note(
      finding(kind, vgpu::Grade::error, *why, Probe::timed_calls, kGivenShapes, v.resources.calls));
  course.decide(VerdictStatus::policy_violation, *why);
}

void judge_floor(TorchCourse& course, const std::optional<Calibration>& calibration) {
  Verdict& v = course.verdict();
  Measurement& m = *v.measurement;
  if (!calibration || m.sides.empty() || !v.numerics) return;
  const worker::FloorFacts& f = course.oracle().task().floor;
  m.floor = floor_of({f.bytes, f.fp32, f.tf32able, f.fp16, f.bf16}, *calibration, *v.numerics,
                     m.sides.front().median_ns);
  const std::string why = impossible_time(m, course.request().timing != Timing::warm);
  if (why.empty() || course.decided()) return;
  course.note(finding(JudgeFinding::below_floor, vgpu::Grade::error, why, Probe::timed_calls,
                      kGivenShapes, v.resources.calls));
  course.decide(VerdictStatus::timing_invalid, why);
}

Status measure_sides(TorchCourse& course, std::vector<Contestant> baselines) {
  Verdict& v = course.verdict();
  Measuring measuring(course, std::move(baselines));
  FIEL_TRY_STATUS(measuring.run());
  judge_floor(course, measuring.calibration());
  const Case& timed = measuring.session()->timed_case();
  if (!course.decided() && !timed.prepared.dropped)
    FIEL_TRY_STATUS(record_accounts(course, measuring.all(), timed));
  judge_track(course);
  measuring.show();
  Measurement& m = *v.measurement;
  if (!m.sides.empty() && !m.sides.front().events_believed)
    course.note(finding(JudgeFinding::events_disbelieved, vgpu::Grade::warn,
                        "the claimed device times are less than the judge's clock allows",
                        Probe::timed_calls, kGivenShapes, v.resources.calls));
  if (course.decided()) m.speed = SpeedDecision::not_measured;
  if (course.decided()) m.reward = -1;
  measuring.keep();
  return {};
}

}  // namespace

Status measure(TorchCourse& course, std::vector<Contestant> baselines) {
  Verdict& v = course.verdict();
  v.measurement = Measurement{};
  v.measurement->shape_set = course.oracle().main_shapes();
  v.measurement->memory.setup_ms = course.setup_ms();
  const Status done =
      or_limit(course.request().options, measure_sides(course, std::move(baselines)));
  Measurement& m = *v.measurement;
  if (!done && done.error().code == ErrorCode::interrupted) return done;
  if (!done && is_out_of_memory(done.error())) course.lacked_memory();
  if (!done) {
    m.speed = SpeedDecision::not_measured;
    m.reward = 1;
    m.why = printable(words_of(done.error(), v), 300);
  }
  v.speed = std::string(judge::name_of(m.speed));
  return {};
}

}  // namespace fiel::judge::torch
