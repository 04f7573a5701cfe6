#include "judge/minimise.h"

#include <algorithm>
#include <set>

#include "judge/probe_inputs.h"

namespace fiel::judge {
namespace {

// A start of the sandbox costs some 50 ms: two seconds in all.
constexpr int kMaxAttempts = 28;
constexpr int64_t kLeastMs = 1'000;  ///< of a call, where the judgement's time is up

struct Reproduction {
  bool failed = false;
  Verdict verdict;  ///< of this call alone
};

/// One process, one call. A different status is a different failure.
Result<Reproduction> reproduce(Course& course, const PlannedShape& shape, const ProbeRecipe& recipe,
                               VerdictStatus status) {
  Reproduction r;
  JudgeOptions own = course.options();
  own.limit.reset();  // what was found shortly before its end is still made small
  Course alone(course.task(), course.starter(), own, r.verdict);
  FIEL_TRY(const Preparation p, prepare(course.task(), shape.instance, recipe));
  if (!p.expectation) return r;
  FIEL_TRY(auto rig, Rig::start(course.starter(), {}));
  FIEL_TRY_STATUS(rig->place(shape.instance, Placement::exact));
  CallOptions call;
  call.probe = recipe.probe;
  call.shape_set = shape.name;
  call.timeout_ms =
      std::min(course.options().call_timeout_ms, std::max(course.left_ms(), kLeastMs));
  ProbeResult ignored;
  FIEL_TRY(const bool right, alone.check_call(*rig, shape, p, call, ignored));
  r.failed = !right && alone.decided() && r.verdict.status == status;
  return r;
}

Result<PlannedShape> shape_at(const task::Task& task, const std::string& name,
                              const Symbols& symbols) {
  FIEL_TRY(task::Instance instance, task.instantiate({name, symbols, false}));
  return PlannedShape{name, symbols,    std::make_shared<const task::Instance>(std::move(instance)),
                      true, Tier::full, 0};
}

std::vector<int64_t> smaller_values(int64_t v) {
  std::set<int64_t> values;
  for (int64_t s : {int64_t{1}, int64_t{2}, v / 4, v / 2, (v / 2) | 1, v - 1})
    if (s >= 1 && s < v) values.insert(s);
  return {values.begin(), values.end()};
}

void adopt(Course& course, const Reproduction& r, bool smaller) {
  Verdict& v = course.verdict();
  if (!r.verdict.witness) return;
  Witness w = *r.verdict.witness;
  // The kernel's place in the protocol is evidence too: it stays.
  w.minimised = smaller;
  v.witness = std::move(w);
}

}  // namespace

Status minimise(Course& course) {
  Verdict& v = course.verdict();
  if (!course.decided() || course.failed() == nullptr || !v.witness) return {};
  if (v.status != VerdictStatus::incorrect && v.status != VerdictStatus::runtime_error) return {};
  const ProbeRecipe recipe = course.failed()->recipe;
  Symbols best = v.witness->symbols;
  const std::string name = v.witness->shape_set;
  if (best.empty() || recipe.probe >= Probe::same_address) return {};
  FIEL_TRY(const PlannedShape start, shape_at(course.task(), name, best));
  FIEL_TRY(const Reproduction again, reproduce(course, start, recipe, v.status));
  if (!again.failed) return {};
  int attempts = 0;
  for (bool progress = true; progress;) {
    progress = false;
    for (const auto& [symbol, value] : Symbols(best)) {
      for (int64_t smaller : smaller_values(value)) {
        if (++attempts > kMaxAttempts || course.left_ms() <= 0) return {};
        Symbols symbols = best;
        symbols[symbol] = smaller;
        auto shape = shape_at(course.task(), name, symbols);
        if (!shape) continue;
        FIEL_TRY(const Reproduction r, reproduce(course, *shape, recipe, v.status));
        if (!r.failed) continue;
        best = symbols;
        adopt(course, r, true);
        progress = true;
        break;
      }
    }
  }
  return {};
}

}  // namespace fiel::judge
