#include "graph/ops/strided.h"

#include <algorithm>

#include "graph/ops/elementwise.h"

namespace fiel::graph {

Value strided_copy(const Value& source, Shape shape, const Shape& strides, int64_t offset,
                   uint32_t threads) {
  Value out = Value::make({source.dtype(), std::move(shape)});
  auto copy = [&](const auto* from, auto* to) {
    for_each_row<1>(threads, out.shape(), std::array<Shape, 1>{strides},
                    [&](int64_t at, int64_t count, const std::array<int64_t, 1>& start,
                        const std::array<int64_t, 1>& step) {
                      const auto* row = from + offset + start[0];
                      for (int64_t i = 0; i < count; ++i) to[at + i] = row[i * step[0]];
                    });
  };
  if (out.count() == 0) return out;
  if (source.floating())
    copy(source.reals(), out.reals());
  else
    copy(source.integers(), out.integers());
  return out;
}

Value permuted(const Value& source, const std::vector<size_t>& order, uint32_t threads) {
  Shape strides = contiguous_strides(source.shape()), shape, step;
  bool identity = true;
  for (size_t i = 0; i < order.size(); ++i) {
    identity = identity && order[i] == i;
    shape.push_back(source.size(order[i]));
    step.push_back(strides[order[i]]);
  }
  if (identity) return source;
  return strided_copy(source, shape, step, 0, threads);
}

Axis axis_of(const Shape& shape, size_t dim) {
  Axis a;
  if (shape.empty()) return a;
  for (size_t i = 0; i < dim; ++i) a.outer *= shape[i];
  a.length = shape[dim];
  for (size_t i = dim + 1; i < shape.size(); ++i) a.inner *= shape[i];
  return a;
}

Value rows_of(const Value& source, const std::vector<int64_t>& dims, uint32_t threads) {
  std::vector<size_t> order;
  int64_t kept = 1, reduced = 1;
  for (size_t i = 0; i < source.rank(); ++i)
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) == dims.end()) {
      order.push_back(i);
      kept *= source.size(i);
    }
  for (int64_t d : dims) {
    order.push_back(static_cast<size_t>(d));
    reduced *= source.size(static_cast<size_t>(d));
  }
  return permuted(source, order, threads).reshaped({kept, reduced});
}

}  // namespace fiel::graph
