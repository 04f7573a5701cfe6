// Which shapes a kernel is judged at: the task's own shape sets by cost, and odd ones made from
// them, so that a kernel that is right only where the sizes are round is seen to be.
//
//   FIEL_TRY(ShapePlan plan, plan_shapes(task, options));
//   for (const PlannedShape& s : plan.shapes) …          // cheapest first
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/options.h"
#include "judge/verdict.h"
#include "task/task.h"

namespace fiel::judge {

/// How much is done at a shape. Never more than its cost allows.
enum class Tier : uint8_t {
  few,   ///< one input set of the task's own and one of mixed signs
  some,  ///< three seeds, and the probes that find most
  full,  ///< every probe
};

struct PlannedShape {
  std::string name;
  Symbols symbols;
  std::shared_ptr<const task::Instance> instance;
  bool generated = false;  ///< made here, not declared: a kernel may refuse it
  Tier tier = Tier::full;
  double work = 0;  ///< estimated thread instructions of one call
};

struct ShapePlan {
  std::vector<PlannedShape> shapes;
  std::vector<SkippedShape> skipped;
};

Result<ShapePlan> plan_shapes(const task::Task& task, const JudgeOptions& options);

/// Thread instructions that a plain kernel needs for one call: what budgets are counted in.
double estimated_work(const task::Instance& instance);

/// Beyond this a right kernel, too, may reach the limits of a call on the virtual device.
inline constexpr double kMostCertainWork = 2e9;

/// "rows=255 cols=511"
std::string to_string(const Symbols& symbols);

}  // namespace fiel::judge
