// Inputs and shapes that a mutant is looked at with, made otherwise than strict's probes: other
// distributions, each input its own, other sizes. What strict misses must be found by something
// that does not share its blind spots.
//
//   for (const Symbols& at : witness_shapes(task, plan, options)) …
//   FIEL_TRY(std::vector<Tensor> x, witness_inputs(instance, Style::rows, seed));
//
// Every input set is legal for the task; whether the reference is finite on it is the caller's
// question. The same seed gives the same bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/shapes.h"
#include "task/task.h"

namespace fiel::mutate {

// id, name
#define FIEL_STYLES(X)              \
  X(symmetric, "symmetric")         \
  X(gaussian, "gaussian")           \
  X(positive, "positive")           \
  X(negative, "negative")           \
  X(large, "large")                 \
  X(tiny, "tiny")                   \
  X(wide, "wide")                   \
  X(heavy_tails, "heavy-tails")     \
  X(shifted, "shifted")             \
  X(rows, "rows")                   \
  X(sparse, "sparse")               \
  X(ramp, "ramp")                   \
  X(alternating, "alternating")     \
  X(equal_but_one, "equal-but-one") \
  X(lattice, "lattice")             \
  X(near_one, "near-one")           \
  X(saturated, "saturated")         \
  X(one_special, "one-special")     \
  X(row_of_special, "row-of-special")

enum class Style : uint8_t {
#define FIEL_X(id, name) id,
  FIEL_STYLES(FIEL_X)
#undef FIEL_X
};
inline constexpr int kStyleCount = 19;
std::string_view name_of(Style style);

/// NaN and infinities are planted.
inline bool is_special(Style s) { return s == Style::one_special || s == Style::row_of_special; }
/// Few distinct values: sums round the same way each time.
inline bool is_systematic(Style s) {
  return s == Style::sparse || s == Style::ramp || s == Style::alternating ||
         s == Style::equal_but_one || s == Style::lattice;
}

Result<std::vector<Tensor>> witness_inputs(const task::Instance& instance, Style style,
                                           uint64_t seed);

struct WitnessShapeOptions {
  uint64_t seed = 0;
  size_t count = 24;       ///< drawn from many sizes
  double work = 2.5e5;     ///< thread instructions of a call, about
  double long_work = 2e6;  ///< of those with one size far larger than the others
};
/// None that `plan` has, cheapest first.
std::vector<judge::PlannedShape> witness_shapes(const task::Task& task,
                                                const judge::ShapePlan& plan,
                                                const WitnessShapeOptions& options);

}  // namespace fiel::mutate
