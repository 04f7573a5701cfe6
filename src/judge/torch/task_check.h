// Before any candidate runs: can the task tell right from wrong, and what does a case cost?
//
//   FIEL_TRY(const bool judgeable, check_task(*oracle, request, verdict));    // false: task_void
#pragma once

#include "judge/torch/cost_plan.h"
#include "judge/torch/course.h"

namespace fiel::judge::torch {

/// False: the verdict is task_void.
Result<bool> check_task(OracleSide& oracle, const TorchRequest& request, Verdict& verdict);

/// What the oracle said of a case's price, or what the judge saw of it.
CostFacts cost_facts(const OracleSide& oracle, double seen_case_s = 0);

}  // namespace fiel::judge::torch
