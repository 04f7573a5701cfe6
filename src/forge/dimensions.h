// Which dimensions of a graph's values are one and the same: operators join them, and broadcasting
// joins what it aligns.
//
//   Dimensions d(types);
//   d.align(a, y);                 // y = a + b: from the right, where the extents are equal
//   d.root(a, 0) == d.root(y, 1);
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace fiel::forge {

class Dimensions {
 public:
  explicit Dimensions(const std::vector<graph::TensorType>& types);
  void join(uint32_t a, size_t a_dimension, uint32_t b, size_t b_dimension);
  void align(uint32_t a, uint32_t b);
  /// Joins those of `a` that `dropped` does not hold with those of `b`, in order.
  void join_kept(uint32_t a, const std::vector<size_t>& dropped, uint32_t b, bool keeps_extent);
  /// Joins extents other than 1 in order: squeeze and unsqueeze.
  void join_long(uint32_t a, uint32_t b);
  uint32_t root(uint32_t node, size_t dimension) const;

 private:
  uint32_t root(uint32_t at) const;
  std::vector<Shape> shapes_;
  std::vector<uint32_t> begin_, parent_;
};

}  // namespace fiel::forge
