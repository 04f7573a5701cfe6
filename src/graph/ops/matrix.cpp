#include "graph/ops/matrix.h"

#include "graph/gemm.h"
#include "graph/ops/elementwise.h"

namespace fiel::graph {
namespace {

/// Element offsets of each matrix of a broadcast batch.
std::vector<int64_t> batch_offsets(const Shape& own, const Shape& batch, int64_t matrix) {
  Shape strides = broadcast_strides(own, batch);
  std::vector<int64_t> out(static_cast<size_t>(numel(batch)));
  for (size_t i = 0; i < out.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (size_t d = batch.size(); d-- > 0;) {
      out[i] += rest % batch[d] * strides[d] * matrix;
      rest /= batch[d];
    }
  }
  return out;
}

void integer_product(const int64_t* a, const int64_t* b, int64_t* c, int64_t m, int64_t n,
                     int64_t k, DType dtype) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      uint64_t sum = 0;  // unsigned: wraps as two's complement does
      for (int64_t p = 0; p < k; ++p)
        sum += static_cast<uint64_t>(a[i * k + p]) * static_cast<uint64_t>(b[p * n + j]);
      c[i * n + j] = wrap_integer(dtype, static_cast<int64_t>(sum));
    }
}

}  // namespace

Value matrix_product(const Value& a, const Value& b, DType dtype, uint32_t threads) {
  int64_t m = a.size(a.rank() - 2), k = a.size(a.rank() - 1), n = b.size(b.rank() - 1);
  Shape batch_a(a.shape().begin(), a.shape().end() - 2);
  Shape batch_b(b.shape().begin(), b.shape().end() - 2);
  Shape batch = broadcast(batch_a, batch_b).value();
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  Value out = Value::make({dtype, shape});
  if (out.count() == 0) return out;
  // A batch of rows against one matrix is one product.
  if (out.floating() && numel(batch_b) == 1) {
    gemm({a.reals(), k, 1}, {b.reals(), n, 1}, out.reals(), n, numel(batch) * m, n, k, threads);
    return out;
  }
  std::vector<int64_t> at_a = batch_offsets(batch_a, batch, m * k);
  std::vector<int64_t> at_b = batch_offsets(batch_b, batch, k * n);
  auto count = static_cast<int64_t>(at_a.size());
  if (out.floating()) {
    gemm_batch({a.reals(), k, 1}, at_a.data(), {b.reals(), n, 1}, at_b.data(), out.reals(), count,
               m, n, k, threads);
    return out;
  }
  parallel_for(count, 1, threads, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      integer_product(a.integers() + at_a[static_cast<size_t>(i)],
                      b.integers() + at_b[static_cast<size_t>(i)], out.integers() + i * m * n, m, n,
                      k, dtype);
  });
  return out;
}

Value add_values(const Evaluation& e, const Value& a, const Value& b, const TensorType& type) {
  if (is_floating(type.dtype))
    return map_reals(
        e, type, [](double x, double y) { return x + y; }, a, b);
  Value out = Value::make(type);
  Shape sa = broadcast_strides(a.shape(), type.shape),
        sb = broadcast_strides(b.shape(), type.shape);
  for_each_row<2>(e.threads, type.shape, std::array<Shape, 2>{sa, sb},
                  [&](int64_t at, int64_t count, const std::array<int64_t, 2>& offset,
                      const std::array<int64_t, 2>& step) {
                    for (int64_t i = 0; i < count; ++i) {
                      auto x = static_cast<uint64_t>(a.integers()[offset[0] + i * step[0]]);
                      auto y = static_cast<uint64_t>(b.integers()[offset[1] + i * step[1]]);
                      out.integers()[at + i] =
                          wrap_integer(type.dtype, static_cast<int64_t>(x + y));
                    }
                  });
  return out;
}

}  // namespace fiel::graph
