#include "cli/profiled_call.h"

#include "base/text.h"
#include "judge/prepared.h"
#include "judge/shapes.h"

namespace fiel::cli {

Result<std::vector<Tensor>> profiled_inputs(const task::Instance& at, uint64_t seed) {
  FIEL_TRY(auto inputs, judge::make_inputs(at, {judge::Probe::task_inputs, 0, seed, 1}));
  if (!inputs) return fail(ErrorCode::unsupported, "the task has no inputs");
  return std::move(*inputs);
}

Result<std::vector<task::ShapeSet>> profiled_shapes(const task::Task& task,
                                                    const Arguments& arguments) {
  judge::JudgeOptions options;
  if (const auto shapes = arguments.value("--shapes"))
    for (std::string_view name : split(*shapes, ','))
      if (!trim(name).empty()) options.shapes.emplace_back(trim(name));
  FIEL_TRY(const judge::ShapePlan plan, judge::plan_shapes(task, options));
  std::vector<task::ShapeSet> sets;
  for (const judge::PlannedShape& s : plan.shapes)
    if (!s.generated) sets.push_back({s.name, s.symbols, false});
  return sets;
}

}  // namespace fiel::cli
