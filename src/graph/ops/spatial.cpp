#include "graph/ops/spatial.h"

#include <fmt/core.h>

namespace fiel::graph {

Result<Triple> triple(const Call&, const char* name, const std::vector<int64_t>& values,
                      size_t dims, int64_t fill, int64_t least) {
  if (values.size() != 1 && values.size() != dims)
    return refuse(fmt::format("{} has {} values for {} dimensions", name, values.size(), dims));
  Triple out{fill, fill, fill};
  for (size_t i = 0; i < dims; ++i) {
    int64_t v = values.size() == 1 ? values[0] : values[i];
    if (v < least || v > kMaxWindow)
      return refuse(fmt::format("{} is {}; it must be at least {}", name, v, least));
    out[3 - dims + i] = v;
  }
  return out;
}

Triple spatial_extent(const Shape& shape, size_t dims) {
  Triple out{1, 1, 1};
  for (size_t i = 0; i < dims; ++i) out[3 - dims + i] = shape[shape.size() - dims + i];
  return out;
}

}  // namespace fiel::graph
