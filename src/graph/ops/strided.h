// Copies of strided views: what slicing, permuting, expanding and flipping come down to.
#pragma once

#include <vector>

#include "graph/value.h"

namespace fiel::graph {

/// out[i…] = source element offset + Σ i·strides.
Value strided_copy(const Value& source, Shape shape, const Shape& strides, int64_t offset,
                   uint32_t threads);
Value permuted(const Value& source, const std::vector<size_t>& order, uint32_t threads);

/// A tensor seen as [outer, axis, inner] around one dimension.
struct Axis {
  int64_t outer = 1, length = 1, inner = 1;
};
Axis axis_of(const Shape& shape, size_t dim);

/// Moves the dimensions `dims` (sorted) to the end and flattens both groups: [kept, reduced].
/// Shares the elements where they are at the end already.
Value rows_of(const Value& source, const std::vector<int64_t>& dims, uint32_t threads);

}  // namespace fiel::graph
