#include "judge/torch/strict.h"

#include <fmt/core.h>

#include <chrono>

#include "base/text.h"
#include "judge/probe_inputs.h"

namespace fiel::judge::torch {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds that correctness may take beyond the probes that are never left out.
double budget_s(Effort effort) {
  return effort == Effort::quick ? 15 : effort == Effort::standard ? 60 : 600;
}

uint32_t repeated_calls(Effort effort) {
  return effort == Effort::quick ? 8 : effort == Effort::standard ? 32 : 256;
}

/// Purposes of derived seeds: no two uses meet.
uint64_t case_seed(uint64_t seed, Probe probe, uint32_t variant, uint32_t use = 0) {
  return derive_seed(derive_seed(seed, 1 + static_cast<uint64_t>(probe)), variant + 1000ull * use);
}

class Strict {
 public:
  explicit Strict(TorchCourse& course)
      : course_(course), seed_(course.request().options.seed), begin_(Clock::now()) {}

  Status run();

 private:
  /// One input set and one call on it. False: stop.
  Result<bool> value_probe(Probe probe, uint32_t variants, const std::string& shapes = {});
  Result<bool> memory_probes();
  Result<bool> one_element(const Case& base);
  Result<bool> weights_in_place(const Case& base);
  Result<bool> new_address(const Case& base);
  Result<bool> other_shapes();
  Result<bool> repeated();
  void guards_and_state();
  Result<bool> single(const Case& c, const Slots& slots, ProbeResult& result);
  bool out_of_time(Probe probe, const std::string& shapes = kGivenShapes);

  TorchCourse& course_;
  uint64_t seed_;
  Clock::time_point begin_;
  uint32_t shift_ = 0;
};

bool Strict::out_of_time(Probe probe, const std::string& shapes) {
  const double budget = budget_s(course_.request().options.effort);
  const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (spent < budget) return false;
  ProbeResult r = blank(probe, shapes);
  r.outcome = ProbeOutcome::skipped;
  r.reason = fmt::format("beyond the budget of {:.0f} s; --budget thorough gives more", budget);
  course_.finish(std::move(r));
  return true;
}

Result<bool> Strict::single(const Case& c, const Slots& slots, ProbeResult& result) {
  if (c.prepared.dropped) {
    if (result.calls == 0) {
      result.outcome = ProbeOutcome::dropped;
      result.reason = *c.prepared.dropped;
    }
    return true;
  }
  result.outcome = ProbeOutcome::passed;
  result.reason.clear();
  return course_.check(c, slots, result);
}

Result<bool> Strict::value_probe(Probe probe, uint32_t variants, const std::string& shapes) {
  ProbeResult result = blank(probe, shapes.empty() ? kGivenShapes : shapes);
  bool go_on = true;
  for (uint32_t v = 0; go_on && v < variants; ++v) {
    const uint64_t seed = case_seed(seed_, probe, v, shapes.empty() ? 0 : 1);
    // The task's own inputs once with the task's own weights; everything else with new ones.
    std::optional<uint64_t> weights;
    if (probe != Probe::task_inputs || v > 0) weights = derive_seed(seed, 7);
    FIEL_TRY(const Case c, course_.oracle().prepare(probe, v, seed, weights, shapes));
    FIEL_TRY(go_on, single(c, {}, result));
    course_.oracle().release(c);
  }
  if (!course_.decided() && !go_on && course_.refused(result.shape_set)) {
    result.outcome = ProbeOutcome::skipped;
    result.reason = "the kernel refuses this shape";
  }
  course_.finish(std::move(result));
  return go_on;
}

Result<bool> Strict::one_element(const Case& base) {
  ProbeResult result = blank(Probe::one_element, kGivenShapes);
  bool go_on = true;
  for (uint32_t v = 0; go_on && v < 2; ++v) {
    const uint64_t seed = case_seed(seed_, Probe::one_element, v);
    FIEL_TRY(const Case c, course_.oracle().prepare(Probe::one_element, v, seed,
                                                    base.wish.weights_seed, {}, &base));
    FIEL_TRY(go_on, single(c, {}, result));
    course_.oracle().release(c);
  }
  course_.finish(std::move(result));
  return go_on;
}

Result<bool> Strict::new_address(const Case& base) {
  ProbeResult result = blank(Probe::new_address, kGivenShapes);
  Case moved = base;
  moved.probe = Probe::new_address;
  Slots slots{Use::other_inputs, Use::other_outputs, 4096, 0x7f};
  FIEL_TRY(const bool go_on, single(moved, slots, result));
  course_.finish(std::move(result));
  return go_on;
}

Result<bool> Strict::weights_in_place(const Case& base) {
  if (course_.oracle().task().weight_bytes == 0) return true;
  ProbeResult result = blank(Probe::weights_in_place, kGivenShapes);
  const uint64_t seed = case_seed(seed_, Probe::weights_in_place, 0);
  FIEL_TRY(const Case c, course_.oracle().prepare(Probe::weights_in_place, 0, base.wish.seed,
                                                  derive_seed(seed, 9), {}, &base));
  FIEL_TRY(const bool go_on, single(c, {}, result));
  course_.oracle().release(c);
  course_.finish(std::move(result));
  return go_on;
}

/// Same buffers with new data; one element changed; the same data elsewhere; weights overwritten.
Result<bool> Strict::memory_probes() {
  ProbeResult result = blank(Probe::same_address, kGivenShapes);
  const uint64_t seed = case_seed(seed_, Probe::same_address, 0);
  FIEL_TRY(const Case base,
           course_.oracle().prepare(Probe::same_address, 0, seed, derive_seed(seed_, 77)));
  FIEL_TRY(bool go_on, single(base, {}, result));
  course_.finish(std::move(result));
  if (go_on && !base.prepared.dropped) {
    FIEL_TRY(go_on, one_element(base));
    if (go_on) {
      FIEL_TRY(go_on, new_address(base));
    }
    if (go_on) {
      FIEL_TRY(go_on, weights_in_place(base));
    }
  }
  course_.oracle().release(base);
  return go_on;
}

Result<bool> Strict::other_shapes() {
  for (const worker::ShapeVariant& v : course_.oracle().task().shape_variants) {
    if (out_of_time(Probe::other_shapes, v.name)) return true;
    for (const Probe probe : {Probe::task_inputs, Probe::mixed_signs}) {
      FIEL_TRY(const bool go_on, value_probe(probe, 1, v.name));
      if (course_.decided()) return false;
      if (!go_on) break;
    }
  }
  return true;
}

Result<bool> Strict::repeated() {
  ProbeResult result = blank(Probe::repeated_calls, kGivenShapes);
  bool go_on = true;
  const uint32_t calls = repeated_calls(course_.request().options.effort);
  const double budget = 1.5 * budget_s(course_.request().options.effort);
  for (uint32_t i = 0; go_on && i < calls; ++i) {
    if (std::chrono::duration<double>(Clock::now() - begin_).count() > budget) break;
    const uint64_t seed = case_seed(seed_, Probe::repeated_calls, i);
    // Mostly the weights that are there: a cache of what is derived from them may live.
    const uint64_t weights = derive_seed(seed_, 500 + i / 8);
    FIEL_TRY(Case c, course_.oracle().prepare(Probe::repeated_calls, i, seed, weights));
    Slots slots;
    slots.poison = i % 2 == 0 ? 0xff : 0x3d;
    FIEL_TRY(go_on, single(c, slots, result));
    course_.oracle().release(c);
  }
  if (result.calls == 0 && result.outcome == ProbeOutcome::passed) {
    result.outcome = ProbeOutcome::skipped;
    result.reason = "beyond the budget";
  }
  course_.finish(std::move(result));
  return go_on;
}

/// Checked at every call; listed so that a reader sees that they were.
void Strict::guards_and_state() {
  const Resources& r = course_.verdict().resources;
  ProbeResult guards = blank(Probe::guard_bands, kGivenShapes);
  guards.calls = static_cast<uint32_t>(r.calls);
  course_.finish(std::move(guards));
  if (!course_.oracle().has_buffers() || course_.request().mode != "train") return;
  ProbeResult state = blank(Probe::module_state, kGivenShapes);
  state.calls = static_cast<uint32_t>(r.calls);
  course_.finish(std::move(state));
}

Status Strict::run() {
  course_.expect_steps(28 + repeated_calls(course_.request().options.effort));
  FIEL_TRY(bool go_on, course_.load());
  if (go_on) {
    FIEL_TRY(go_on, value_probe(Probe::task_inputs, 3));
  }
  if (go_on) {
    FIEL_TRY(go_on, value_probe(Probe::mixed_signs, 2));
  }
  if (go_on) {
    FIEL_TRY(go_on, memory_probes());
  }
  for (const Probe probe : value_probes()) {
    if (!go_on) return {};
    if (probe == Probe::task_inputs || probe == Probe::mixed_signs) continue;
    if (out_of_time(probe)) continue;
    FIEL_TRY(go_on, value_probe(probe, variants_of(probe)));
  }
  if (go_on) {
    FIEL_TRY(go_on, other_shapes());
  }
  if (go_on && !course_.decided()) {
    FIEL_TRY(go_on, repeated());
  }
  if (course_.decided()) return {};
  guards_and_state();
  Verdict& v = course_.verdict();
  v.status = VerdictStatus::correct;
  v.reason =
      fmt::format("right on {} calls of {} kinds", v.resources.calls_compared, v.probes.size());
  return {};
}

}  // namespace

Result<bool> check_task(OracleSide& oracle, const TorchRequest& request, Verdict& verdict) {
  const worker::OpenedTask& task = oracle.task();
  for (const std::string& w : task.warnings)
    verdict.findings.push_back(finding(JudgeFinding::task_warning, vgpu::Grade::info, w,
                                       Probe::task_inputs, kGivenShapes, 0));
  verdict.status = VerdictStatus::task_void;
  if (task.void_why || task.randomness == "void") {
    verdict.reason = printable(task.void_why.value_or("its reference is random"), 600);
    return false;
  }
  std::vector<Case> cases;
  Json ids = Json::array();
  for (const auto& [probe, variant] : {std::pair{Probe::task_inputs, 10u},
                                       {Probe::mixed_signs, 10u},
                                       {Probe::task_inputs, 11u},
                                       {Probe::scale_range, 10u}}) {
    const uint64_t seed = case_seed(request.options.seed, probe, variant);
    FIEL_TRY(Case c, oracle.prepare(probe, variant % 10, seed, derive_seed(seed, 7)));
    if (!c.prepared.dropped) ids.push_back(c.prepared.id);
    cases.push_back(std::move(c));
  }
  auto tried = oracle.oracle().impostors(ids);
  if (!tried) return fail(worker::to_error(tried.error()).with_context("trying wrong answers"));
  for (const Case& c : cases)
    if (!c.prepared.dropped) oracle.release(c);
  for (const worker::Impostor& i : *tried) {
    verdict.void_checks.push_back({i.name, i.rejected, i.rejected_by});
    if (i.rejected) continue;
    verdict.reason =
        fmt::format("{} would pass every probe: the task cannot tell right from wrong", i.name);
    return false;
  }
  verdict.status = VerdictStatus::undecided;
  return true;
}

Status run_strict(TorchCourse& course) {
  Strict strict(course);
  return strict.run();
}

}  // namespace fiel::judge::torch
