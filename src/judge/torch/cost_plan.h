// Where the probes of a PyTorch task run, by what a case costs there. KernelBench has tasks
// of 1.6e9 elements, of which a case takes seconds: those get few cases at their own shapes, and
// the rest at a smaller shape that the module accepts.
//
//   CostPlan plan = plan_by_cost({case_s, input_bytes, variants}, Effort::standard, "cuda:0");
//   if (plan.cheap) …everything at the task's own shapes…
//
// Pure: the same figures give the same plan. docs/protocol.md#by-cost
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/options.h"
#include "judge/verdict.h"

namespace fiel::judge::torch {

struct PlacePlan {
  std::string shape_variant;
  double case_s = 0;  ///< estimated
};

struct CostFacts {
  double case_s = 0;         ///< of a case at the task's own shapes; infinite where none fits
  uint64_t input_bytes = 0;  ///< there
  struct Variant {
    std::string name;
    uint64_t input_bytes = 0;  ///< 0: unknown
  };
  std::vector<Variant> variants;
};

struct CostPlan {
  double case_s = 0;
  bool cheap = true;               ///< a case at the task's own shapes is affordable everywhere
  std::vector<PlacePlan> small;    ///< where else the probes may run, smallest first; not if cheap
  std::vector<PlacePlan> shapes;   ///< variants for other-shapes
  std::vector<SkippedShape> left;  ///< variants that cost too much
  double budget_s = 0;             ///< beyond it probes are left out
};

CostPlan plan_by_cost(const CostFacts& facts, Effort effort, const std::string& device);

/// Repeated calls where a case takes so long, in what is left of the budget.
uint32_t repeated_calls(double case_s, double left_s, Effort effort);

}  // namespace fiel::judge::torch
