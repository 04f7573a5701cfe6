#include "forge/program.h"

#include <algorithm>
#include <set>

#include "forge/lowering.h"

namespace fiel::forge {
namespace {

/// The shape set whose extents differ most: where M, N and K are equal nothing can be told apart.
const task::ShapeSet& most_distinct(const task::Task& task) {
  const auto distinct = [](const task::ShapeSet& s) {
    std::set<int64_t> values;
    for (const auto& [name, value] : s.symbols)
      if (value > 1) values.insert(value);
    return values.size();
  };
  return *std::max_element(task.shape_sets.begin(), task.shape_sets.end(),
                           [&](const auto& a, const auto& b) { return distinct(a) < distinct(b); });
}

/// The one that is timed, else the largest.
const task::ShapeSet& timed(const task::Task& task) {
  const task::ShapeSet* best = &task.shape_sets.front();
  const auto size = [](const task::ShapeSet& s) {
    double n = s.benchmark ? 1e30 : 1;
    for (const auto& [name, value] : s.symbols) n *= static_cast<double>(value);
    return n;
  };
  for (const task::ShapeSet& s : task.shape_sets)
    if (size(s) > size(*best)) best = &s;
  return *best;
}

Result<Program> lowered_at(const task::Task& task, const task::ShapeSet& set, Variance variance) {
  FIEL_TRY(const task::Instance at, task.instantiate(set));
  FIEL_TRY(auto types, graph::infer_types(at.graph, at.inputs));
  return Lowering(at, std::move(types), variance).run();
}

bool same_numbers(const Program& a, const Program& b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                    [](const Step& x, const Step& y) {
                      return x.kind == y.kind && x.constant == y.constant && x.text == y.text;
                    });
}

}  // namespace

Result<Program> program_of(const task::Task& task, Variance variance) {
  FIEL_TRY(Program p, lowered_at(task, most_distinct(task), variance));
  for (const task::ShapeSet& set : task.shape_sets) {
    const auto other = lowered_at(task, set, variance);
    // Extents of 1, or equal ones, may make another shape of it; numbers must not differ.
    if (other && other->steps.size() == p.steps.size() && !same_numbers(p, *other))
      return fail(ErrorCode::unsupported,
                  "there is no template: the expression holds numbers that depend on the shape");
  }
  if (const auto at = lowered_at(task, timed(task), variance)) {
    p.rows = at->rows;
    p.columns = at->columns;
    p.depth = at->depth;
  }
  return p;
}

}  // namespace fiel::forge
