// Loops over broadcast operands, for the rows whose result elements are independent.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/parallel.h"
#include "graph/types.h"
#include "graph/value.h"

namespace fiel::graph {

/// Strides (in elements) of a contiguous `shape` seen as `out`: 0 where it broadcasts.
inline Shape broadcast_strides(const Shape& shape, const Shape& out) {
  Shape strides(out.size(), 0);
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    size_t at = i + out.size() - shape.size();
    strides[at] = shape[i] == 1 ? 0 : step;
    step *= shape[i];
  }
  return strides;
}

/// Calls row(out_offset, length, {operand offsets}, {operand steps}) for runs along the innermost
/// dimension, in parallel. Adjacent dimensions are merged where every operand allows it.
template <size_t N, typename Row>
void for_each_row(uint32_t threads, const Shape& out, std::array<Shape, N> strides, Row row) {
  Shape extent;
  std::array<Shape, N> step;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 1) continue;
    bool merge = !extent.empty();
    for (size_t n = 0; n < N && merge; ++n) merge = step[n].back() == strides[n][i] * out[i];
    if (merge)
      extent.back() *= out[i];
    else
      extent.push_back(out[i]);
    for (size_t n = 0; n < N; ++n) {
      if (merge)
        step[n].back() = strides[n][i];
      else
        step[n].push_back(strides[n][i]);
    }
  }
  std::array<int64_t, N> inner{};
  int64_t length = 1;
  if (!extent.empty()) {
    length = extent.back();
    extent.pop_back();
    for (size_t n = 0; n < N; ++n) {
      inner[n] = step[n].back();
      step[n].pop_back();
    }
  }
  int64_t rows = numel(extent);
  // One long row is cut, so that it too runs on every core.
  int64_t cuts = rows >= 64 ? 1 : std::clamp<int64_t>(length / 4096, 1, 64);
  int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, length / cuts));
  parallel_for(rows * cuts, grain, threads, [&](int64_t from, int64_t to) {
    for (int64_t piece = from; piece < to; ++piece) {
      int64_t r = piece / cuts, cut = piece % cuts, rest = r;
      int64_t begin = length * cut / cuts, end = length * (cut + 1) / cuts;
      std::array<int64_t, N> offset{};
      for (size_t d = extent.size(); d-- > 0;) {
        int64_t index = rest % extent[d];
        rest /= extent[d];
        for (size_t n = 0; n < N; ++n) offset[n] += index * step[n][d];
      }
      for (size_t n = 0; n < N; ++n) offset[n] += begin * inner[n];
      row(r * length + begin, end - begin, offset, inner);
    }
  });
}

/// out[i] = f(a[i], b[i] …) over doubles, operands widened and broadcast.
template <typename F, typename... Values>
Value map_reals(const Evaluation& e, const TensorType& type, F f, const Values&... operands) {
  constexpr size_t N = sizeof...(operands);
  std::array<Value, N> values{operands.to_reals()...};
  std::array<Shape, N> strides;
  for (size_t n = 0; n < N; ++n) strides[n] = broadcast_strides(values[n].shape(), type.shape);
  Value out = Value::make(type);
  for_each_row<N>(e.threads, type.shape, strides,
                  [&](int64_t at, int64_t count, const std::array<int64_t, N>& offset,
                      const std::array<int64_t, N>& step) {
                    double* y = out.reals() + at;
                    std::array<const double*, N> x;
                    for (size_t n = 0; n < N; ++n) x[n] = values[n].reals() + offset[n];
                    for (int64_t i = 0; i < count; ++i)
                      y[i] = [&]<size_t... I>(std::index_sequence<I...>) {
                        return f(x[I][i * step[I]]...);
                      }
                    (std::make_index_sequence<N>{});
                  });
  return out;
}

}  // namespace fiel::graph
