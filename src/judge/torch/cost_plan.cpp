#include "judge/torch/cost_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace fiel::judge::torch {
namespace {

/// Launches, events and messages of a case, whatever its size.
constexpr double kLeastCaseS = 0.02;
constexpr uint32_t kLeastRepeated = 2;

/// Sixty cases at this price are nine seconds. A CPU is slow in everything, and nobody waits for it
/// in a queue.
double cheap_case_s(Effort effort, bool cpu) {
  const double gpu = effort == Effort::quick ? 0.05 : effort == Effort::standard ? 0.15 : 2;
  return cpu ? 8 * gpu : gpu;
}

/// Of wall time. A CPU that others use too answers three times as slowly, and what is beyond the
/// budget is not tried: sixty cheap cases fit all the same.
double budget_s(Effort effort, bool cpu) {
  if (cpu) return effort == Effort::quick ? 60 : effort == Effort::standard ? 180 : 600;
  return effort == Effort::quick ? 6 : effort == Effort::standard ? 12 : 600;
}

double estimate(const CostFacts& facts, uint64_t bytes) {
  if (bytes == 0 || facts.input_bytes == 0) return facts.case_s;
  const double share = static_cast<double>(bytes) / static_cast<double>(facts.input_bytes);
  // Where no case fits, nothing is known but that small ones are cheap.
  if (!std::isfinite(facts.case_s)) return share < 0.05 ? kLeastCaseS : facts.case_s;
  return std::max(kLeastCaseS, facts.case_s * std::min(share, 1.0));
}

}  // namespace

CostPlan plan_by_cost(const CostFacts& facts, Effort effort, const std::string& device) {
  const bool cpu = device == "cpu";
  const double affordable = cheap_case_s(effort, cpu);
  CostPlan plan;
  plan.case_s = facts.case_s;
  plan.cheap = facts.case_s < affordable;
  plan.budget_s = budget_s(effort, cpu);
  for (const CostFacts::Variant& v : facts.variants) {
    const double cost = estimate(facts, v.input_bytes);
    if (plan.cheap || cost < affordable)
      plan.shapes.push_back({v.name, cost});
    else
      plan.left.push_back({v.name, fmt::format("a case there takes about {:.1f} s", cost)});
    // Halving is worth it; less would cost coverage and save nothing.
    if (!plan.cheap && cost <= facts.case_s / 2) plan.small.push_back({v.name, cost});
  }
  std::stable_sort(plan.small.begin(), plan.small.end(),
                   [](const PlacePlan& a, const PlacePlan& b) { return a.case_s < b.case_s; });
  return plan;
}

uint32_t repeated_calls(double case_s, double left_s, Effort effort) {
  const uint32_t most = effort == Effort::quick ? 8 : effort == Effort::standard ? 32 : 256;
  if (!(case_s > 0)) return most;
  const double fit = std::floor(std::max(left_s, 0.0) / case_s);
  return static_cast<uint32_t>(
      std::clamp(fit, static_cast<double>(kLeastRepeated), static_cast<double>(most)));
}

}  // namespace fiel::judge::torch
