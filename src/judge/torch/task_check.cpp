#include "judge/torch/task_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "judge/probe_inputs.h"
#include "judge/torch/bare_side.h"

namespace fiel::judge::torch {
namespace {

/// A case is prepared, placed and compared; only the first of these is what the oracle timed.
constexpr double kCasePerPreparation = 1.5;

struct Trial {
  Probe probe;
  uint32_t variant;
};
constexpr Trial kTrials[] = {{Probe::task_inputs, 10},
                             {Probe::mixed_signs, 10},
                             {Probe::task_inputs, 11},
                             {Probe::scale_range, 10}};

/// The impostors on cases at one shape; the first `trials` of them.
Result<std::vector<worker::Impostor>> impostors_at(OracleSide& oracle, uint64_t seed,
                                                   const std::string& shapes, size_t trials) {
  std::vector<Case> cases;
  Json ids = Json::array();
  for (const Trial& t : std::span(kTrials).first(trials)) {
    const uint64_t own = derive_seed(derive_seed(seed, 1 + static_cast<uint64_t>(t.probe)),
                                     t.variant + (shapes.empty() ? 0 : 3000));
    FIEL_TRY(Case c, oracle.prepare(t.probe, t.variant % 10, own, derive_seed(own, 7), shapes));
    if (!c.prepared.dropped) ids.push_back(c.prepared.id);
    cases.push_back(std::move(c));
  }
  auto tried = oracle.impostors(ids);
  for (const Case& c : cases) oracle.release(c);
  return tried;
}

/// Two draws tell whether a bare kernel can be given what forward takes.
Result<std::string> obstacle(OracleSide& oracle, uint64_t seed) {
  std::vector<Case> cases;
  for (uint64_t i = 0; i < 2; ++i) {
    FIEL_TRY(Case c, oracle.prepare(Probe::task_inputs, 0, derive_seed(seed, 8000 + i), {}));
    cases.push_back(std::move(c));
  }
  std::string why = bare_obstacle(cases);
  for (const Case& c : cases) oracle.release(c);
  return why;
}

const worker::Impostor* accepted_one(const std::vector<worker::Impostor>& all) {
  for (const worker::Impostor& i : all)
    if (!i.rejected) return &i;
  return nullptr;
}

}  // namespace

CostFacts cost_facts(const OracleSide& oracle, double seen_case_s) {
  const worker::OpenedTask& task = oracle.task();
  CostFacts facts;
  facts.case_s = std::numeric_limits<double>::infinity();
  if (task.prepare_s) facts.case_s = kCasePerPreparation * *task.prepare_s;
  if (seen_case_s > 0) facts.case_s = std::min(facts.case_s, seen_case_s);
  facts.input_bytes = task.input_bytes;
  for (const worker::ShapeVariant& v : task.shape_variants) {
    if (v.name != oracle.main_shapes()) {
      facts.variants.push_back({v.name, v.input_bytes});
      continue;
    }
    // Shapes that stand in for the task's own cost less, as their size says.
    facts.case_s *= static_cast<double>(v.input_bytes) /
                    static_cast<double>(std::max<uint64_t>(facts.input_bytes, 1));
    facts.input_bytes = v.input_bytes;
  }
  return facts;
}

Result<bool> check_task(OracleSide& oracle, const TorchRequest& request, Verdict& verdict) {
  const worker::OpenedTask& task = oracle.task();
  for (const std::string& w : task.warnings)
    verdict.findings.push_back(finding(JudgeFinding::task_warning, vgpu::Grade::info, w,
                                       Probe::task_inputs, oracle.main_shapes(), 0));
  if (oracle.main_shapes() != kGivenShapes)
    verdict.skipped_shapes.push_back(
        {kGivenShapes,
         "its tensors are too large for the virtual device; smaller shapes stand in"});
  verdict.status = VerdictStatus::task_void;
  if (task.void_why || task.randomness == "void") {
    verdict.reason = printable(task.void_why.value_or("its reference is random"), 600);
    return false;
  }
  if (request.is_bare()) {
    FIEL_TRY(const std::string why, obstacle(oracle, request.options.seed));
    if (!why.empty()) {
      verdict.status = VerdictStatus::unsupported;
      verdict.unsupported_by = "device";
      verdict.reason = why;
      return false;
    }
  }
  const CostPlan plan =
      plan_by_cost(cost_facts(oracle), request.options.effort, request.torch_device());
  const uint64_t seed = request.options.seed;
  std::vector<worker::Impostor> tried;
  if (!plan.small.empty()) {
    FIEL_TRY(tried, impostors_at(oracle, seed, plan.small.front().shape_variant, 4));
  }
  // A small shape may be degenerate where the task is not: only its own shapes condemn it.
  if (plan.small.empty() || accepted_one(tried) != nullptr) {
    FIEL_TRY(tried, impostors_at(oracle, seed, {}, plan.cheap ? 4 : 2));
  }
  for (const worker::Impostor& i : tried)
    verdict.void_checks.push_back({i.name, i.rejected, i.rejected_by});
  if (const worker::Impostor* i = accepted_one(tried)) {
    verdict.reason =
        fmt::format("{} would pass every probe: the task cannot tell right from wrong", i->name);
    return false;
  }
  verdict.status = VerdictStatus::undecided;
  return true;
}

}  // namespace fiel::judge::torch
