#include "judge/torch/native_speed.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "base/files.h"
#include "base/text.h"
#include "judge/probe_inputs.h"
#include "judge/shapes.h"
#include "judge/time_limit.h"
#include "judge/torch/attempt.h"
#include "judge/torch/course.h"
#include "judge/torch/stopping.h"
#include "judge/torch/timed.h"
#include "task/torch_source.h"

namespace fiel::judge::torch {
namespace {

bool named(const JudgeOptions& options, const std::string& set) {
  return std::find(options.shapes.begin(), options.shapes.end(), set) != options.shapes.end();
}

/// The sets to choose from, and of these the benchmark sets where there are any.
std::vector<const task::ShapeSet*> chosen_sets(const task::Task& task,
                                               const JudgeOptions& options) {
  std::vector<const task::ShapeSet*> all, benchmarks;
  for (const task::ShapeSet& set : task.shape_sets) {
    if (!options.shapes.empty() && !named(options, set.name)) continue;
    all.push_back(&set);
    if (set.benchmark) benchmarks.push_back(&set);
  }
  return benchmarks.empty() ? all : benchmarks;
}

/// The generated module as a file, which the baselines load; the oracle is given its text.
Result<TorchRequest> request_at(const task::Task& task, const task::Instance& at,
                                const TorchRequest& base, const std::filesystem::path& folder) {
  TorchRequest r = base;
  FIEL_TRY(r.reference, task::torch_source(task, at));
  const std::filesystem::path path = folder / (task.name + ".py");
  FIEL_TRY_STATUS(write_file_atomic(path, r.reference));
  r.task_path = path.string();
  r.shown_task = task.source_file;
  r.mode = "eval";
  r.domains.clear();
  for (const task::InputSpec& input : at.input_specs)
    r.domains.emplace_back(task::name_of(input.domain));
  return r;
}

/// The oracle's comparison at this shape, which the native course may have found too costly.
Result<bool> check_answers(TorchCourse& course) {
  for (const Probe probe : {Probe::task_inputs, Probe::mixed_signs}) {
    const uint64_t seed =
        derive_seed(derive_seed(course.request().options.seed, 4243), static_cast<uint64_t>(probe));
    FIEL_TRY(const Case c, course.oracle().prepare(probe, 0, seed, std::nullopt));
    ProbeResult result = blank(probe, kGivenShapes);
    bool right = true;
    if (c.prepared.dropped) {
      result.outcome = ProbeOutcome::dropped;
      result.reason = *c.prepared.dropped;
    } else {
      FIEL_TRY(right, course.check(c, {}, result));
    }
    course.oracle().release(c);
    course.finish(std::move(result));
    if (!right) return false;
  }
  return true;
}

Status time_once(const TorchRequest& request, const Workers& workers, Attempt& attempt,
                 Verdict& v) {
  std::future<Result<Compiled>> compiling = std::async(std::launch::async, workers.compile);
  FIEL_TRY(auto oracle, OracleSide::open(workers, request, attempt.room));
  describe_machine(oracle->machine(), false, v.environment);
  if (attempt.lacks_room(*oracle)) return {};
  const worker::OpenedTask& task = oracle->task();
  if (task.void_why || task.randomness == "void")
    return fail(ErrorCode::unsupported, "the oracle cannot tell right from wrong at this shape: " +
                                            task.void_why.value_or("its reference is random"));
  TorchCourse course(*oracle, workers, request, v);
  course.expect(std::move(compiling));
  std::vector<Contestant> baselines = start_baselines(request, *oracle, workers);
  FIEL_TRY(const bool loaded, course.load());
  if (!loaded) return {};
  FIEL_TRY(const bool right, check_answers(course));
  if (right) FIEL_TRY_STATUS(measure(course, std::move(baselines)));
  attempt.out_of_memory = course.ran_out_of_memory();
  return {};
}

/// What of a measurement at one shape goes into the verdict of the task.
class Adoption {
 public:
  Adoption(const task::Instance& at, const Symbols& symbols, Verdict& to)
      : at_(at), symbols_(symbols), to_(to) {}

  void take(Verdict timed, const Status& done) {
    take_evidence(timed);
    if (decides(timed.status)) {
      to_.status = timed.status;
      to_.reason = fmt::format("at {}: {}", at_.shape_set, timed.reason);
      to_.witness = std::move(timed.witness);
      if (to_.witness) place(to_.witness->shape_set, to_.witness->symbols);
    }
    Measurement m = std::move(timed.measurement).value_or(Measurement{});
    m.shape_set = at_.shape_set;
    if (m.why.empty() && m.speed == SpeedDecision::not_measured) m.why = why_not(timed, done);
    m.reward = decides(timed.status) ? -1 : std::max(m.reward, 1);
    if (to_.measurement)
      to_.other_measurements.push_back(std::move(m));
    else
      to_.measurement = std::move(m);
    to_.speed = std::string(judge::name_of(to_.measurement->speed));
  }

 private:
  /// A finding about the kernel, not about what this machine can do.
  static bool decides(VerdictStatus s) {
    return s == VerdictStatus::incorrect || s == VerdictStatus::timing_invalid ||
           s == VerdictStatus::tampering || s == VerdictStatus::policy_violation ||
           s == VerdictStatus::runtime_error || s == VerdictStatus::timeout;
  }

  std::string why_not(const Verdict& timed, const Status& done) const {
    if (!done) return printable(to_string(done.error()), 300);
    if (timed.status == VerdictStatus::unsupported && timed.unsupported_by == "kernel")
      return fmt::format("the kernel refuses the shape set '{}'", at_.shape_set);
    return timed.reason;
  }

  void place(std::string& shape_set, Symbols& symbols) const {
    if (shape_set != kGivenShapes) return;
    shape_set = at_.shape_set;
    symbols = symbols_;
  }

  void take_evidence(Verdict& timed) {
    for (ProbeResult& p : timed.probes) {
      place(p.shape_set, p.symbols);
      // A refusal, or a fault of this machine: nothing about the kernel was found.
      const bool failed = p.outcome == ProbeOutcome::failed;
      if (failed && !decides(timed.status)) p.outcome = ProbeOutcome::skipped;
      to_.probes.push_back(std::move(p));
    }
    Symbols unused;
    for (FindingRecord& f : timed.findings) {
      place(f.shape_set, unused);
      to_.findings.push_back(std::move(f));
    }
    for (const std::string& refused : timed.refused_shapes)
      to_.refused_shapes.push_back(refused == kGivenShapes ? at_.shape_set : refused);
    if (timed.numerics)
      to_.numerics = worse(*timed.numerics, to_.numerics.value_or(*timed.numerics));
    to_.environment.torch = timed.environment.torch;
    to_.environment.python = timed.environment.python;
    to_.environment.notes = timed.environment.notes;
    Resources& r = to_.resources;
    r.calls += timed.resources.calls;
    r.calls_compared += timed.resources.calls_compared;
    r.launches += timed.resources.launches;
    r.peak_device_bytes = std::max(r.peak_device_bytes, timed.resources.peak_device_bytes);
    to_.candidate_output += timed.candidate_output;
  }

  const task::Instance& at_;
  const Symbols& symbols_;
  Verdict& to_;
};

/// What the course needs to know of the verdict so far, and nothing that it would count again.
Verdict scratch_of(const Verdict& v) {
  Verdict s;
  s.status = VerdictStatus::correct;
  s.task = v.task;
  s.kernel = v.kernel;
  s.numerics = v.numerics;
  s.environment = v.environment;
  return s;
}

const Symbols& symbols_of(const task::Task& task, const task::Instance& at) {
  const auto set = std::find_if(task.shape_sets.begin(), task.shape_sets.end(),
                                [&](const task::ShapeSet& s) { return s.name == at.shape_set; });
  return set->symbols;
}

Status time_at(const task::Task& task, const task::Instance& at, const TorchRequest& base,
               const Workers& workers, Verdict& verdict) {
  FIEL_TRY(const TempDir folder, TempDir::create("fiel-native-task"));
  FIEL_TRY(const TorchRequest request, request_at(task, at, base, folder.path()));
  Adoption adoption(at, symbols_of(task, at), verdict);
  Verdict timed;
  Status done = where_it_fits(true, [&](Attempt& attempt) {
    timed = scratch_of(verdict);
    return time_once(request, workers, attempt, timed);
  });
  done = or_limit(request.options, std::move(done));
  if (!done && done.error().code == ErrorCode::interrupted) return done;
  adoption.take(std::move(timed), done);
  return {};
}

}  // namespace

void not_timed(Verdict& verdict, const std::string& why) {
  Measurement m;
  m.why = printable(why, 400);
  m.reward = 1;
  verdict.measurement = std::move(m);
  verdict.speed = std::string(judge::name_of(SpeedDecision::not_measured));
}

Result<std::vector<task::Instance>> timed_shapes(const task::Task& task,
                                                 const JudgeOptions& options) {
  std::vector<task::Instance> all;
  bool any_benchmark = false;
  for (const task::ShapeSet* set : chosen_sets(task, options)) {
    FIEL_TRY(task::Instance at, task.instantiate(*set));
    any_benchmark |= set->benchmark;
    all.push_back(std::move(at));
  }
  std::stable_sort(all.begin(), all.end(), [](const task::Instance& a, const task::Instance& b) {
    return estimated_work(a) > estimated_work(b);
  });
  if (!any_benchmark && options.shapes.empty() && all.size() > 1)
    all.erase(all.begin() + 1, all.end());
  return all;
}

Status time_native(const task::Task& task, const TorchRequest& asked, const Workers& given,
                   Verdict& verdict) {
  TorchRequest request = asked;
  request.options.limit = begin_limit(asked.options);
  const Workers workers = stoppable(given, request.options);
  if (task.tolerance.relative_rms || task.tolerance.max_ulp_factor)
    return not_timed(verdict,
                     "the task has a tolerance of its own, which the oracle does not know"),
           Status{};
  FIEL_TRY(const auto shapes, timed_shapes(task, request.options));
  for (const task::Instance& at : shapes) {
    const Status done = time_at(task, at, request, workers, verdict);
    FIEL_TRY_STATUS(not_stopped(request.options));
    if (!done && done.error().code == ErrorCode::interrupted) return done;
    if (!done && !verdict.measurement) not_timed(verdict, to_string(done.error()));
    if (verdict.status != VerdictStatus::correct || request.options.limit->is_up()) break;
  }
  return {};
}

}  // namespace fiel::judge::torch
