// Windows over one to three spatial dimensions, for convolution and pooling: everything is computed
// as if there were three, the missing ones in front with extent 1.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "graph/operators.h"
#include "graph/types.h"

namespace fiel::graph {

using Triple = std::array<int64_t, 3>;

/// `values` (one for all, or one a dimension) as three, `fill` for the missing dimensions.
Result<Triple> triple(const Call& c, const char* name, const std::vector<int64_t>& values,
                      size_t dims, int64_t fill, int64_t least);
/// The last `dims` extents of a shape as three.
Triple spatial_extent(const Shape& shape, size_t dims);

struct Window {
  Triple in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  Triple before{0, 0, 0};  ///< padding in front
  int64_t positions() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t inputs() const { return in[0] * in[1] * in[2]; }
};

/// Bound on kernel, stride, padding and dilation: their products stay far from overflow.
inline constexpr int64_t kMaxWindow = int64_t{1} << 31;

}  // namespace fiel::graph
