#include "forge/dimensions.h"

#include <algorithm>
#include <numeric>

namespace fiel::forge {

Dimensions::Dimensions(const std::vector<graph::TensorType>& types) {
  uint32_t count = 0;
  for (const graph::TensorType& t : types) {
    shapes_.push_back(t.shape);
    begin_.push_back(count);
    count += static_cast<uint32_t>(t.shape.size());
  }
  parent_.resize(count);
  std::iota(parent_.begin(), parent_.end(), 0u);
}

uint32_t Dimensions::root(uint32_t at) const {
  while (parent_[at] != at) at = parent_[at];
  return at;
}
uint32_t Dimensions::root(uint32_t node, size_t dimension) const {
  return root(begin_[node] + static_cast<uint32_t>(dimension));
}

void Dimensions::join(uint32_t a, size_t a_dimension, uint32_t b, size_t b_dimension) {
  parent_[root(a, a_dimension)] = root(b, b_dimension);
}

void Dimensions::align(uint32_t a, uint32_t b) {
  const size_t most = std::min(shapes_[a].size(), shapes_[b].size());
  for (size_t i = 1; i <= most; ++i) {
    const size_t in_a = shapes_[a].size() - i, in_b = shapes_[b].size() - i;
    if (shapes_[a][in_a] == shapes_[b][in_b]) join(a, in_a, b, in_b);
  }
}

void Dimensions::join_kept(uint32_t a, const std::vector<size_t>& dropped, uint32_t b,
                           bool keeps_extent) {
  size_t to = 0;
  for (size_t d = 0; d < shapes_[a].size(); ++d) {
    const bool kept = std::find(dropped.begin(), dropped.end(), d) == dropped.end();
    if (kept) join(a, d, b, to);
    if (kept || keeps_extent) ++to;
  }
}

void Dimensions::join_long(uint32_t a, uint32_t b) {
  size_t to = 0;
  for (size_t d = 0; d < shapes_[a].size(); ++d) {
    if (shapes_[a][d] == 1) continue;
    while (to < shapes_[b].size() && shapes_[b][to] == 1) ++to;
    if (to < shapes_[b].size()) join(a, d, b, to++);
  }
}

}  // namespace fiel::forge
