// Copies in which each output index comes from a table of its dimension: slices, pads, rolls,
// repeats, flips and selections are all this.
#pragma once

#include <optional>
#include <vector>

#include "graph/value.h"

namespace fiel::graph {

/// For each dimension the source index of each output index, -1 for `fill`; nullopt: unchanged.
using IndexTables = std::vector<std::optional<std::vector<int64_t>>>;

Value gather_dims(const Value& source, const IndexTables& tables, double fill, uint32_t threads);

/// Copies `part` into `whole` at `start` along `dim`; both contiguous, of one dtype.
void copy_into(Value& whole, const Value& part, size_t dim, int64_t start);

}  // namespace fiel::graph
