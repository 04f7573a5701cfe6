#include "judge/state_probes.h"

#include <cmath>

#include "tensor/compare.h"

namespace fiel::judge {
namespace {

ProbeRecipe recipe_of(const Course& course, Probe probe, uint32_t variant) {
  return {probe, variant,
          derive_seed(course.options().seed, 500 + static_cast<uint64_t>(probe) * 2048 + variant),
          1};
}

CallOptions call_options(const Course& course, const PlannedShape& shape, Probe probe,
                         uint64_t number) {
  CallOptions c;
  c.probe = probe;
  c.shape_set = shape.name;
  c.poison = number % 2 == 0 ? 0x5a : 0xff;
  c.timeout_ms = course.options().call_timeout_ms;
  return c;
}

/// Calls on each prepared input in turn; probes without a finite input set are dropped.
Result<bool> call_in_turn(Course& course, Rig& rig, const PlannedShape& shape, Probe probe,
                          const std::vector<Preparation>& prepared) {
  ProbeResult result = blank(shape, probe);
  bool go_on = true;
  for (const Preparation& p : prepared) {
    if (!p.expectation) {
      result.reason = p.dropped;
      continue;
    }
    FIEL_TRY(go_on, course.check_call(rig, shape, p,
                                      call_options(course, shape, probe, rig.calls()), result));
    if (!go_on) break;
  }
  if (result.calls == 0) result.outcome = ProbeOutcome::dropped;
  course.finish(std::move(result));
  return go_on;
}

/// Input sets `first` to `first + count - 1` of a probe.
Result<std::vector<Preparation>> fresh(Course& course, const PlannedShape& shape, Probe probe,
                                       uint32_t count, uint32_t first = 0) {
  return course.inputs(shape, probe, first, [&]() -> Result<std::vector<Preparation>> {
    std::vector<Preparation> list;
    for (uint32_t v = first; v < first + count; ++v) {
      FIEL_TRY(Preparation p, prepare(course.task(), shape.instance, recipe_of(course, probe, v)));
      list.push_back(std::move(p));
    }
    return list;
  });
}
/// What is made from a probe's fresh inputs, kept beside them.
constexpr uint32_t kDerivedPart = 1u << 20;

bool may_change(const task::InputSpec& spec, const Tensor& t) {
  // One changed probability breaks the promise that its row sums to 1.
  return spec.domain != task::Domain::probability && t.numel() > 0;
}

/// True where the reference's answer differs by more than rounding.
Result<bool> reacts(const Preparation& before, const Preparation& after) {
  for (size_t o = 0; o < after.expectation->values().size(); ++o) {
    const Tensor& old = before.expectation->values()[o];
    const DType dtype = after.expectation->instance().outputs[o].dtype;
    FIEL_TRY(const fiel::Comparison c,
             after.expectation->compare(o, old.to(dtype), NumericsClass::tf32));
    if (!c.accepted()) return true;
  }
  return false;
}

/// The base input, then copies of it with one element changed where the reference notices.
Result<std::vector<Preparation>> one_element_changes(Course& course, const PlannedShape& shape) {
  FIEL_TRY(std::vector<Preparation> list, fresh(course, shape, Probe::one_element, 1));
  if (!list.front().expectation) return list;
  const task::Instance& at = *shape.instance;
  const uint64_t seed = recipe_of(course, Probe::one_element, 0).seed;
  uint64_t draw = 0;
  for (size_t i = 0; i < at.inputs.size() && list.size() < 7; ++i) {
    int found = 0;
    for (int attempt = 0; attempt < 6 && found < 2; ++attempt) {
      const Preparation base = list.back();
      std::vector<Tensor> inputs = base.expectation->inputs();
      if (!may_change(at.input_specs[i], inputs[i])) break;
      inputs[i] = inputs[i].clone();
      const uint64_t r = derive_seed(seed, ++draw);
      const auto place = static_cast<int64_t>(r % static_cast<uint64_t>(inputs[i].numel()));
      inputs[i].set_flat(place, changed_value(at.input_specs[i].domain, inputs[i].dtype(),
                                              inputs[i].at_flat(place), at.index_bounds[i], r));
      FIEL_TRY(Preparation p, prepare_given(course.task(), shape.instance, std::move(inputs),
                                            recipe_of(course, Probe::one_element, 0)));
      if (!p.expectation) continue;
      FIEL_TRY(const bool seen, reacts(base, p));
      if (!seen) continue;
      list.push_back(std::move(p));
      ++found;
    }
  }
  return list;
}

/// The same data with every parameter drawn anew.
Result<std::vector<Preparation>> weight_changes(Course& course, const PlannedShape& shape) {
  const Probe probe = Probe::weights_in_place;
  FIEL_TRY(std::vector<Preparation> list, fresh(course, shape, probe, 2));
  const task::Instance& at = *shape.instance;
  bool any = false;
  for (const task::InputSpec& spec : at.input_specs) any |= spec.parameter;
  if (!any || !list[0].expectation || !list[1].expectation) {
    list.clear();
    return list;
  }
  std::vector<Tensor> inputs = list[0].expectation->inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (at.input_specs[i].parameter) inputs[i] = list[1].expectation->inputs()[i];
  FIEL_TRY(list[1], prepare_given(course.task(), shape.instance, std::move(inputs),
                                  recipe_of(course, probe, 1)));
  return list;
}

Result<bool> run_same_address(Course& course, Rig& rig, const PlannedShape& shape) {
  FIEL_TRY(auto same, fresh(course, shape, Probe::same_address, 3));
  return call_in_turn(course, rig, shape, Probe::same_address, same);
}

Result<bool> run_one_element(Course& course, Rig& rig, const PlannedShape& shape) {
  FIEL_TRY(auto changes, course.inputs(shape, Probe::one_element, kDerivedPart,
                                       [&] { return one_element_changes(course, shape); }));
  return call_in_turn(course, rig, shape, Probe::one_element, changes);
}

Result<bool> run_weights_in_place(Course& course, Rig& rig, const PlannedShape& shape) {
  FIEL_TRY(auto weights, course.inputs(shape, Probe::weights_in_place, kDerivedPart,
                                       [&] { return weight_changes(course, shape); }));
  if (weights.empty()) return true;
  return call_in_turn(course, rig, shape, Probe::weights_in_place, weights);
}

Result<bool> run_new_address(Course& course, Rig& rig, const PlannedShape& shape) {
  FIEL_TRY(std::vector<Preparation> list, fresh(course, shape, Probe::new_address, 1));
  if (!list.front().expectation) return true;
  ProbeResult result = blank(shape, Probe::new_address);
  bool go_on = true;
  for (int round = 0; round < 2 && go_on; ++round) {  // same data, then again somewhere else
    if (round > 0) FIEL_TRY_STATUS(rig.place(shape.instance, Placement::exact));
    FIEL_TRY(go_on, course.check_call(rig, shape, list.front(),
                                      call_options(course, shape, Probe::new_address, rig.calls()),
                                      result));
  }
  course.finish(std::move(result));
  return go_on;
}

Result<bool> run_guard_bands(Course& course, Rig& rig, const PlannedShape& shape) {
  FIEL_TRY_STATUS(rig.place(shape.instance, Placement::guarded));
  FIEL_TRY(auto list, fresh(course, shape, Probe::guard_bands, 2));
  FIEL_TRY(const bool go_on, call_in_turn(course, rig, shape, Probe::guard_bands, list));
  FIEL_TRY_STATUS(rig.place(shape.instance, Placement::exact));
  return go_on;
}

/// True where two calls on one input gave different bits: a note.
bool note_difference(Course& course, const PlannedShape& shape, const Call& first,
                     vgpu::FindingKind kind) {
  const Call& call = course.last_call();
  const auto difference = output_difference(first, call);
  if (difference) course.note_once(note_of(*difference, kind, shape.name, call.number));
  return difference.has_value();
}

vgpu::Schedule order_of_blocks(uint32_t order, uint64_t seed) {
  vgpu::Schedule s;
  s.reverse_blocks = order == 1;
  s.reverse_warps = order == 2;
  if (order < 3) return s;
  s.seed = derive_seed(seed, 900 + order) | 1;
  s.quantum = order == 3 ? 1 : 17;
  return s;
}

/// The first order once more without contraction. What the order alone moves says nothing here.
Result<bool> compare_uncontracted(Course& course, Rig& rig, const PlannedShape& shape,
                                  const Preparation& prepared, const Call& contracted,
                                  ProbeResult& result) {
  CallOptions options = call_options(course, shape, Probe::schedules, 0);
  options.contract = vgpu::Contract::off;
  FIEL_TRY(const bool go_on, course.check_call(rig, shape, prepared, options, result));
  if (go_on) note_difference(course, shape, contracted, vgpu::FindingKind::contract_sensitive);
  return go_on;
}

}  // namespace

const std::vector<StateProbe>& state_probes() {
  static const std::vector<StateProbe> order = {run_same_address, run_new_address, run_one_element,
                                                run_weights_in_place, run_guard_bands};
  return order;
}

Result<bool> run_repeated_calls(Course& course, Rig& rig, const PlannedShape& shape,
                                uint32_t calls) {
  FIEL_TRY_STATUS(rig.place(shape.instance, Placement::exact));
  ProbeResult result = blank(shape, Probe::repeated_calls);
  bool go_on = true;
  for (uint32_t v = 0; v < calls && go_on; ++v) {
    FIEL_TRY(const auto drawn, fresh(course, shape, Probe::repeated_calls, 1, v));
    const Preparation& p = drawn.front();
    if (!p.expectation) {
      result.reason = p.dropped;
      continue;
    }
    FIEL_TRY(go_on, course.check_call(
                        rig, shape, p,
                        call_options(course, shape, Probe::repeated_calls, rig.calls()), result));
  }
  if (result.calls == 0) result.outcome = ProbeOutcome::dropped;
  course.finish(std::move(result));
  return go_on;
}

Result<bool> run_schedules(Course& course, const PlannedShape& shape) {
  SessionWish wish;
  wish.global_races = true;
  wish.contract = vgpu::Contract::on;
  FIEL_TRY(auto rig, Rig::start(course.starter(), wish));
  FIEL_TRY_STATUS(rig->place(shape.instance, Placement::exact));
  FIEL_TRY(auto list, fresh(course, shape, Probe::schedules, 1));
  ProbeResult result = blank(shape, Probe::schedules);
  bool go_on = true, steady = true;
  std::optional<Call> first;
  for (uint32_t order = 0; order < 5 && go_on && list.front().expectation; ++order) {
    CallOptions options = call_options(course, shape, Probe::schedules, order);
    options.schedule = order_of_blocks(order, course.options().seed);
    FIEL_TRY(go_on, course.check_call(*rig, shape, list.front(), options, result));
    if (!go_on) break;
    if (!first)
      first = course.last_call();
    else if (note_difference(course, shape, *first, vgpu::FindingKind::nondeterministic))
      steady = false;
  }
  if (go_on && steady && first) {
    FIEL_TRY(go_on, compare_uncontracted(course, *rig, shape, list.front(), *first, result));
  }
  if (result.calls == 0) {
    result.outcome = ProbeOutcome::dropped;
    result.reason = list.front().dropped;
  }
  course.finish(std::move(result));
  return go_on;
}

}  // namespace fiel::judge
