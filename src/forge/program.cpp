#include "forge/program.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
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

int64_t product_of(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

Result<Program> lowered_at(const task::Task& task, const task::ShapeSet& set, const Ways& ways) {
  FIEL_TRY(const task::Instance at, task.instantiate(set));
  FIEL_TRY(auto types, graph::infer_types(at.graph, at.inputs));
  return Lowering(at, std::move(types), ways).run();
}

/// Extents at the shape that is timed, whose equal ones may hide which dimension is which.
Status take_timed_extents(Program& p, const task::Task& task, const Ways& ways) {
  if (p.shape_class == ShapeClass::product) {
    if (const auto at = lowered_at(task, timed(task), ways)) {
      p.rows = at->rows;
      p.columns = at->columns;
      p.depth = at->depth;
    }
    return {};
  }
  FIEL_TRY(const task::Instance at, task.instantiate(timed(task)));
  const Shape& whole = at.inputs[p.shape_input].shape;
  const auto behind = whole.end() - std::min<ptrdiff_t>(p.row_dimensions, std::ssize(whole));
  p.rows = product_of(whole.begin(), behind);
  p.columns = product_of(behind, whole.end());
  auto from = whole.begin();
  for (size_t g = 0; g < p.extents.size(); ++g) {
    const auto to = from + std::min<ptrdiff_t>(p.group_dimensions[g], whole.end() - from);
    p.extents[g] = product_of(from, to);
    from = to;
  }
  return {};
}

bool same_numbers(const Program& a, const Program& b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                    [](const Step& x, const Step& y) {
                      return x.kind == y.kind && x.constant == y.constant && x.text == y.text;
                    });
}

}  // namespace

Result<Program> program_of(const task::Task& task, const Ways& ways) {
  FIEL_TRY(Program p, lowered_at(task, most_distinct(task), ways));
  for (const task::ShapeSet& set : task.shape_sets) {
    const auto other = lowered_at(task, set, ways);
    // Extents of 1, or equal ones, may make another shape of it; numbers must not differ.
    if (other && other->steps.size() == p.steps.size() && !same_numbers(p, *other))
      return fail(ErrorCode::unsupported,
                  "there is no template: the expression holds numbers that depend on the shape");
  }
  FIEL_TRY_STATUS(take_timed_extents(p, task, ways));
  return p;
}

}  // namespace fiel::forge
