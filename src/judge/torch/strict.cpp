#include "judge/torch/strict.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/text.h"
#include "judge/probe_inputs.h"
#include "judge/torch/cost_plan.h"
#include "judge/torch/task_check.h"

namespace fiel::judge::torch {
namespace {

using Clock = std::chrono::steady_clock;

/// Purposes of derived seeds: no two uses meet.
enum Purpose : uint32_t { kOwnShapes, kOtherShapes, kElsewhere };
uint64_t case_seed(uint64_t seed, Probe probe, uint32_t variant, uint32_t use = kOwnShapes) {
  return derive_seed(derive_seed(seed, 1 + static_cast<uint64_t>(probe)), variant + 1000ull * use);
}

class Strict {
 public:
  explicit Strict(TorchCourse& course)
      : course_(course),
        main_(course.oracle().main_shapes()),
        seed_(course.request().options.seed),
        begin_(Clock::now()) {}

  Status run();

 private:
  /// One input set and one call on it. False: stop.
  Result<bool> value_probe(Probe probe, uint32_t variants, const std::string& shapes = {},
                           Purpose use = kOwnShapes);
  Result<bool> at_own_shapes();
  Result<bool> find_place();
  Result<bool> elsewhere();
  Result<bool> memory_probes();
  Result<bool> one_element(const Case& base);
  Result<bool> weights_in_place(const Case& base);
  Result<bool> new_address(const Case& base);
  Result<bool> other_shapes();
  Result<bool> repeated();
  void release(std::vector<Case>& cases);
  Result<bool> schedules();
  bool note_difference(const Call& first, bool plain);
  void guards_and_state();
  Result<bool> single(const Case& c, const Slots& slots, ProbeResult& result);
  bool out_of_time(Probe probe, const std::string& shapes);
  double spent_s() const;
  void say_plan();
  std::string place_name() const { return place_.empty() ? main_ : place_; }

  TorchCourse& course_;
  std::string main_;  ///< the shapes that an empty variant stands for
  uint64_t seed_;
  Clock::time_point begin_;
  double waited_before_s_ = 0;
  double least_case_s_ = std::numeric_limits<double>::infinity();  ///< at the task's own shapes
  CostPlan plan_;
  std::string place_;   ///< the shape variant where most probes run; empty: the task's own shapes
  double place_s_ = 0;  ///< what a case costs there
};

/// Compiling and waiting for the GPU are nobody's probes.
double Strict::spent_s() const {
  const double all = std::chrono::duration<double>(Clock::now() - begin_).count();
  return all - (course_.waited_s() - waited_before_s_);
}

bool Strict::out_of_time(Probe probe, const std::string& shapes) {
  if (spent_s() < plan_.budget_s) return false;
  ProbeResult r = blank(probe, shapes);
  r.outcome = ProbeOutcome::skipped;
  r.reason =
      fmt::format("beyond the budget of {:.0f} s; --budget thorough gives more", plan_.budget_s);
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

Result<bool> Strict::value_probe(Probe probe, uint32_t variants, const std::string& shapes,
                                 Purpose use) {
  ProbeResult result = blank(probe, shapes.empty() ? main_ : shapes);
  bool go_on = true;
  for (uint32_t v = 0; go_on && v < variants; ++v) {
    const uint64_t seed = case_seed(seed_, probe, v, use);
    // The task's own inputs once with the task's own weights; everything else with new ones.
    std::optional<uint64_t> weights;
    if (probe != Probe::task_inputs || v > 0 || use != kOwnShapes) weights = derive_seed(seed, 7);
    const double before_s = course_.oracle().busy_s();
    FIEL_TRY(const Case c, course_.oracle().prepare(probe, v, seed, weights, shapes));
    FIEL_TRY(go_on, single(c, {}, result));
    if (shapes.empty())
      least_case_s_ = std::min(least_case_s_, course_.oracle().busy_s() - before_s);
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
  ProbeResult result = blank(Probe::one_element, place_name());
  bool go_on = true;
  for (uint32_t v = 0; go_on && v < 2; ++v) {
    const uint64_t seed = case_seed(seed_, Probe::one_element, v);
    FIEL_TRY(const Case c, course_.oracle().prepare(Probe::one_element, v, seed,
                                                    base.wish.weights_seed, place_, &base));
    FIEL_TRY(go_on, single(c, {}, result));
    course_.oracle().release(c);
  }
  course_.finish(std::move(result));
  return go_on;
}

Result<bool> Strict::new_address(const Case& base) {
  ProbeResult result = blank(Probe::new_address, place_name());
  Case moved = base;
  moved.probe = Probe::new_address;
  Slots slots{Use::other_inputs, Use::other_outputs, 4096, 0x7f};
  FIEL_TRY(const bool go_on, single(moved, slots, result));
  course_.finish(std::move(result));
  return go_on;
}

Result<bool> Strict::weights_in_place(const Case& base) {
  if (course_.oracle().task().weight_bytes == 0) return true;
  ProbeResult result = blank(Probe::weights_in_place, place_name());
  const uint64_t seed = case_seed(seed_, Probe::weights_in_place, 0);
  FIEL_TRY(const Case c, course_.oracle().prepare(Probe::weights_in_place, 0, base.wish.seed,
                                                  derive_seed(seed, 9), place_, &base));
  FIEL_TRY(const bool go_on, single(c, {}, result));
  course_.oracle().release(c);
  course_.finish(std::move(result));
  return go_on;
}

/// Same buffers with new data; one element changed; the same data elsewhere; weights overwritten.
Result<bool> Strict::memory_probes() {
  ProbeResult result = blank(Probe::same_address, place_name());
  const uint64_t seed = case_seed(seed_, Probe::same_address, 0);
  FIEL_TRY(const Case base,
           course_.oracle().prepare(Probe::same_address, 0, seed, derive_seed(seed_, 77), place_));
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
  for (const PlacePlan& v : plan_.shapes) {
    if (v.shape_variant == place_ || course_.refused(v.shape_variant)) continue;
    if (out_of_time(Probe::other_shapes, v.shape_variant)) return true;
    for (const Probe probe : {Probe::task_inputs, Probe::mixed_signs}) {
      FIEL_TRY(const bool go_on, value_probe(probe, 1, v.shape_variant, kOtherShapes));
      if (course_.decided()) return false;
      if (!go_on) break;
    }
  }
  return true;
}

// What a call must answer costs more than the call: a few inputs stand for all of those that only
// count calls.
constexpr uint32_t kCallsPerWeights = 8, kInputsPerWeights = 3;

Result<bool> Strict::repeated() {
  ProbeResult result = blank(Probe::repeated_calls, place_name());
  bool go_on = true;
  const double budget_s = 1.5 * plan_.budget_s;
  const uint32_t calls =
      repeated_calls(place_s_, budget_s - spent_s(), course_.request().options.effort);
  std::vector<Case> known;  // under these weights
  size_t last = 0;
  for (uint32_t i = 0; go_on && i < calls; ++i) {
    if (i > 0 && spent_s() > budget_s) break;
    // Mostly the weights that are there: a cache of what is derived from them may live.
    const uint64_t weights = derive_seed(seed_, 500 + i / kCallsPerWeights);
    if (i % kCallsPerWeights == 0) release(known);
    if (i % kCallsPerWeights < kInputsPerWeights) {
      const uint64_t seed = case_seed(seed_, Probe::repeated_calls, i);
      FIEL_TRY(Case c, course_.oracle().prepare(Probe::repeated_calls, i, seed, weights, place_));
      known.push_back(std::move(c));
      last = known.size() - 1;
    } else {  // never those of the call before
      last = (last + 1 + derive_seed(seed_, 600 + i) % (known.size() - 1)) % known.size();
    }
    Slots slots;
    slots.poison = i % 2 == 0 ? 0xff : 0x3d;
    FIEL_TRY(go_on, single(known[last], slots, result));
  }
  release(known);
  course_.finish(std::move(result));
  return go_on;
}

void Strict::release(std::vector<Case>& cases) {
  for (Case& c : cases) course_.oracle().release(c);
  cases.clear();
}

/// True where the last call gave other bits than the first on the same input.
bool Strict::note_difference(const Call& first, bool plain) {
  const Call& call = course_.last_seen();
  const auto difference = output_difference(first, call);
  if (difference)
    course_.note(
        note_of(*difference,
                plain ? vgpu::FindingKind::contract_sensitive : vgpu::FindingKind::nondeterministic,
                place_name(), call.number));
  return difference.has_value();
}

/// The virtual GPU runs blocks and warps in several orders, and watches races between blocks.
Result<bool> Strict::schedules() {
  if (!course_.is_bare() || !course_.request().on_virtual()) return true;
  if (out_of_time(Probe::schedules, place_name())) return true;
  SessionWish wish;
  wish.global_races = true;
  wish.contract = vgpu::Contract::on;
  FIEL_TRY_STATUS(course_.restart(wish));
  ProbeResult result = blank(Probe::schedules, place_name());
  const uint64_t seed = case_seed(seed_, Probe::schedules, 0);
  FIEL_TRY(Case c,
           course_.oracle().prepare(Probe::task_inputs, 0, seed, derive_seed(seed, 7), place_));
  c.probe = Probe::schedules;
  course_.keep_outputs(true);
  bool go_on = true, steady = true;
  Call first;
  for (uint32_t order = 0; go_on && order < 5; ++order) {
    // The last call is the first one without contraction; what the order moves says nothing there.
    const bool plain = order == 4;
    if (plain && !steady) break;
    vgpu::Schedule s;
    s.reverse_blocks = order == 1;
    s.reverse_warps = order == 2;
    if (order == 3) s.seed = derive_seed(seed_, 900) | 1;
    course_.set_schedule(s);
    if (plain) course_.set_contract(vgpu::Contract::off);
    FIEL_TRY(go_on, single(c, {}, result));
    if (order == 0) first = course_.last_seen();
    if (go_on && order > 0) steady = !note_difference(first, plain) && steady;
  }
  course_.keep_outputs(false);
  course_.set_contract({});
  course_.set_schedule({});
  course_.oracle().release(c);
  course_.finish(std::move(result));
  return go_on;
}

/// Checked at every call; listed so that a reader sees that they were.
void Strict::guards_and_state() {
  const Resources& r = course_.verdict().resources;
  ProbeResult guards = blank(Probe::guard_bands, main_);
  guards.calls = static_cast<uint32_t>(r.calls);
  course_.finish(std::move(guards));
  if (!course_.oracle().has_buffers() || course_.request().mode != "train") return;
  ProbeResult state = blank(Probe::module_state, main_);
  state.calls = static_cast<uint32_t>(r.calls);
  course_.finish(std::move(state));
}

/// What the task's own shapes get whatever it costs. The cheapest of these cases tells the price of
/// the others: the first one may have built something, and any may have waited for a processor.
Result<bool> Strict::at_own_shapes() {
  const bool cheap = plan_.cheap;
  OracleSide& oracle = course_.oracle();
  FIEL_TRY(bool go_on, value_probe(Probe::task_inputs, cheap ? 3 : 2));
  if (go_on)
    plan_ = plan_by_cost(cost_facts(oracle, least_case_s_), course_.request().options.effort,
                         course_.request().torch_device());
  place_s_ = least_case_s_;
  if (go_on) {
    FIEL_TRY(go_on, value_probe(Probe::mixed_signs, plan_.cheap ? 2 : 1));
  }
  if (!go_on || plan_.cheap) return go_on;
  FIEL_TRY(go_on, value_probe(Probe::outliers, 1));
  if (go_on && course_.verdict().probes.back().outcome == ProbeOutcome::dropped)
    return value_probe(Probe::scale_range, 1);
  return go_on;
}

/// The smallest shape that the kernel answers at. None: all is done at the task's own.
Result<bool> Strict::find_place() {
  for (const PlacePlan& p : plan_.small) {
    FIEL_TRY(const bool go_on, value_probe(Probe::task_inputs, 1, p.shape_variant, kElsewhere));
    if (course_.decided()) return false;
    if (!go_on || course_.verdict().probes.back().outcome != ProbeOutcome::passed) continue;
    place_ = p.shape_variant;
    place_s_ = p.case_s;
    return true;
  }
  return true;
}

void Strict::say_plan() {
  for (const SkippedShape& s : plan_.left) course_.verdict().skipped_shapes.push_back(s);
  if (plan_.cheap) return;
  const std::string where = place_.empty() ? "the rest is done with fewer calls"
                                           : "the probes of values and state run at " + place_;
  course_.note(finding(
      JudgeFinding::planned_by_cost, vgpu::Grade::info,
      fmt::format("a case takes {:.2f} s at the task's own shapes: {}", plan_.case_s, where),
      Probe::task_inputs, main_, course_.verdict().resources.calls));
}

/// Value probes where a case is affordable; where none is, one variant each until the time is up.
Result<bool> Strict::elsewhere() {
  const bool few = !plan_.cheap && place_.empty();
  for (const Probe probe : value_probes()) {
    if (probe == Probe::task_inputs) continue;
    if (probe == Probe::exact_products) continue;  // the oracle does not know which are plain
    if (place_.empty() && probe == Probe::mixed_signs) continue;
    if (few && probe == Probe::outliers) continue;
    if (out_of_time(probe, place_name())) continue;
    FIEL_TRY(const bool go_on, value_probe(probe, few ? 1 : variants_of(probe), place_,
                                           place_.empty() ? kOwnShapes : kElsewhere));
    if (!go_on) return false;
  }
  return true;
}

Status Strict::run() {
  course_.expect_steps(60);
  FIEL_TRY(bool go_on, course_.load());
  begin_ = Clock::now();
  waited_before_s_ = course_.waited_s();
  OracleSide& oracle = course_.oracle();
  plan_ = plan_by_cost(cost_facts(oracle), course_.request().options.effort,
                       course_.request().torch_device());
  if (go_on) {
    FIEL_TRY(go_on, at_own_shapes());
  }
  if (go_on) {
    FIEL_TRY(go_on, find_place());
    say_plan();
  }
  if (go_on) {
    FIEL_TRY(go_on, memory_probes());
  }
  if (go_on) {
    FIEL_TRY(go_on, elsewhere());
  }
  if (go_on) {
    FIEL_TRY(go_on, other_shapes());
  }
  if (go_on && !course_.decided()) {
    FIEL_TRY(go_on, repeated());
  }
  if (go_on && !course_.decided()) {
    FIEL_TRY(go_on, schedules());
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

Status run_strict(TorchCourse& course) {
  Strict strict(course);
  return strict.run();
}

}  // namespace fiel::judge::torch
