#include "judge/shapes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace fiel::judge {
namespace {

/// Bytes that a shape needs on the device: its tensors, twice where they change places, and room
/// for what the kernel allocates itself.
bool fits(const task::Instance& instance, uint64_t memory_bytes) {
  double bytes = 0;
  for (const auto* list : {&instance.inputs, &instance.outputs})
    for (const graph::TensorType& t : *list)
      bytes += static_cast<double>(numel(t.shape) * size_of(t.dtype));
  return 4 * bytes < static_cast<double>(memory_bytes);
}

/// Thread instructions of one call up to which a tier is given.
struct Budget {
  double full, some, few;
};
Budget budget_of(Effort effort) {
  // The virtual GPU executes 0.1 to 1 G of them a second on two cores, checks on.
  switch (effort) {
    case Effort::quick:
      return {5e5, 1e7, 6e7};
    case Effort::standard:
      return {3e6, 4e7, 8e8};
    case Effort::thorough:
      return {3e7, 8e8, 3e10};
  }
  return {0, 0, 0};
}

/// Legal, and nothing to tell right from wrong by.
bool is_empty(const task::Instance& instance) {
  const auto none = [](const graph::TensorType& t) { return numel(t.shape) == 0; };
  return std::any_of(instance.inputs.begin(), instance.inputs.end(), none) ||
         std::any_of(instance.outputs.begin(), instance.outputs.end(), none);
}

std::shared_ptr<const task::Instance> try_instantiate(const task::Task& task,
                                                      const std::string& name,
                                                      const Symbols& symbols) {
  auto instance = task.instantiate({name, symbols, false});
  if (!instance || is_empty(*instance)) return nullptr;
  return std::make_shared<const task::Instance>(std::move(*instance));
}

/// Odd sizes near nothing round. Symbols that must agree in some way make an instance impossible:
/// such a set is left out.
std::vector<PlannedShape> generated_shapes(const task::Task& task, const PlannedShape& base) {
  static constexpr std::array primes = {7, 37, 5, 13, 23, 11, 17, 19};
  // None below 5: statistics of two or three values hide from any perturbation of the inputs what
  // an honest rounding of their mean costs.
  static constexpr std::array wide = {35, 131, 67, 9, 97, 33, 65, 129};
  std::vector<std::pair<std::string, Symbols>> wanted(4);
  wanted[0].first = "odd:ones";
  wanted[1].first = "odd:primes";
  wanted[2].first = "odd:unaligned";
  wanted[3].first = "odd:plus-one";
  size_t i = 0;
  for (const auto& [name, value] : base.symbols) {
    wanted[0].second[name] = 1;
    wanted[1].second[name] = primes[i % primes.size()];
    wanted[2].second[name] = wide[i % wide.size()];
    wanted[3].second[name] = value + 1;
    ++i;
  }
  std::vector<PlannedShape> shapes;
  for (const auto& [name, symbols] : wanted) {
    if (symbols.empty()) continue;
    const bool known = std::any_of(shapes.begin(), shapes.end(),
                                   [&, s = &symbols](const auto& p) { return p.symbols == *s; });
    if (known) continue;
    auto instance = try_instantiate(task, name, symbols);
    if (!instance) continue;
    const double work = estimated_work(*instance);
    shapes.push_back({name, symbols, std::move(instance), true, Tier::full, work});
  }
  return shapes;
}

Status check_names(const task::Task& task, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const task::ShapeSet& s : task.shape_sets) known.push_back(s.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = did_you_mean(name, known);
    std::string list;
    for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
    return fail(ErrorCode::usage, fmt::format("task '{}' has no shape set '{}'", task.name, name),
                near.empty() ? "it has: " + list
                             : fmt::format("did you mean '{}'? it has: {}", near, list));
  }
  return {};
}

}  // namespace

std::string_view name_of(Effort effort) {
  static constexpr std::string_view names[] = {"quick", "standard", "thorough"};
  return names[static_cast<size_t>(effort)];
}
std::string_view name_of(NumericsPolicy policy) {
  static constexpr std::string_view names[] = {"fp32", "tf32", "any"};
  return names[static_cast<size_t>(policy)];
}

std::string to_string(const Symbols& symbols) {
  std::string text;
  for (const auto& [name, value] : symbols)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

double estimated_work(const task::Instance& instance) {
  double elements = 0;
  for (const graph::TensorType& t : instance.inputs)
    elements += static_cast<double>(numel(t.shape));
  for (const graph::TensorType& t : instance.outputs)
    elements += static_cast<double>(numel(t.shape));
  return 3 * instance.cost.flops + 16 * elements;
}

Result<ShapePlan> plan_shapes(const task::Task& task, const JudgeOptions& options) {
  FIEL_TRY_STATUS(check_names(task, options.shapes));
  const Budget budget = budget_of(options.effort);
  ShapePlan plan;
  for (const task::ShapeSet& set : task.shape_sets) {
    const bool named =
        std::find(options.shapes.begin(), options.shapes.end(), set.name) != options.shapes.end();
    if (!options.shapes.empty() && !named) {
      plan.skipped.push_back({set.name, "not among --shapes"});
      continue;
    }
    if (!named && set.benchmark && options.gpu_memory_bytes == 0) {
      plan.skipped.push_back({set.name, "a benchmark shape, meant for timing"});
      continue;
    }
    FIEL_TRY(task::Instance instance, task.instantiate(set));
    PlannedShape shape{
        set.name, set.symbols, std::make_shared<const task::Instance>(std::move(instance)),
        false,    Tier::full,  0};
    shape.work = estimated_work(*shape.instance);
    if (options.gpu_memory_bytes != 0 && !fits(*shape.instance, options.gpu_memory_bytes)) {
      plan.skipped.push_back({set.name, "it does not fit into the GPU's memory"});
      continue;
    }
    if (!named && shape.work > budget.few) {
      plan.skipped.push_back(
          {set.name, fmt::format("about {:.1g} thread instructions a call; --budget {} stops at "
                                 "{:.1g}",
                                 shape.work, name_of(options.effort), budget.few)});
      continue;
    }
    shape.tier = shape.work <= budget.full   ? Tier::full
                 : shape.work <= budget.some ? Tier::some
                                             : Tier::few;
    plan.shapes.push_back(std::move(shape));
  }
  // Empty ones last: the first one says whether the task can tell right from wrong.
  const auto cheaper = [](const PlannedShape& a, const PlannedShape& b) {
    return std::pair(is_empty(*a.instance), a.work) < std::pair(is_empty(*b.instance), b.work);
  };
  std::stable_sort(plan.shapes.begin(), plan.shapes.end(), cheaper);
  if (plan.shapes.empty()) return plan;
  plan.shapes.front().tier = Tier::full;
  if (options.shapes.empty()) {
    for (PlannedShape& odd : generated_shapes(task, plan.shapes.front())) {
      if (odd.work > budget.some) continue;
      const bool declared = std::any_of(plan.shapes.begin(), plan.shapes.end(),
                                        [&](const auto& s) { return s.symbols == odd.symbols; });
      if (!declared) plan.shapes.push_back(std::move(odd));
    }
    std::stable_sort(plan.shapes.begin(), plan.shapes.end(), cheaper);
  }
  return plan;
}

}  // namespace fiel::judge
