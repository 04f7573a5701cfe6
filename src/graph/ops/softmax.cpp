// softmax and its relatives along one dimension.
#include <cmath>

#include "graph/ops/elementwise.h"
#include "graph/ops/strided.h"
#include "graph/sum.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Result<Types> infer_softmax(const Call& c) {
  FIEL_TRY_STATUS(normalize_dim(c.integer("dim"), c.shape(0).size()).map([](int64_t) {}));
  FIEL_TRY(DType dtype, dtype_attribute(c, "dtype", c.type(0).dtype));
  if (!is_floating(dtype))
    return refuse("input must be floating", "give dtype=\"f32\", or cast: to(x, \"f32\")");
  return one(dtype, c.shape(0));
}

/// Copies each line along dim into a row, hands it to f(row, n), and writes the row back.
template <typename F>
Value along_dim(const Evaluation& e, F f) {
  Value x = e.inputs[0]->to_reals();
  auto dim = static_cast<size_t>(normalize_dim(e.call.integer("dim"), x.rank()).value());
  Axis axis = axis_of(x.shape(), dim);
  Value out = Value::make(e.call.results[0]);
  int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(axis.length, 1));
  parallel_for(axis.outer * axis.inner, grain, e.threads, [&](int64_t from, int64_t to) {
    std::vector<double> row(static_cast<size_t>(axis.length));
    for (int64_t line = from; line < to; ++line) {
      int64_t base = line / axis.inner * axis.length * axis.inner + line % axis.inner;
      for (int64_t i = 0; i < axis.length; ++i)
        row[static_cast<size_t>(i)] = x.reals()[base + i * axis.inner];
      f(row.data(), axis.length);
      for (int64_t i = 0; i < axis.length; ++i)
        out.reals()[base + i * axis.inner] = row[static_cast<size_t>(i)];
    }
  });
  return out;
}

double largest(const double* x, int64_t n) {
  double m = -INFINITY;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return x[i];
    if (x[i] > m) m = x[i];
  }
  return m;
}

void softmax_row(double* x, int64_t n) {
  double m = largest(x, n);
  for (int64_t i = 0; i < n; ++i) x[i] = std::exp(x[i] - m);
  double total = sum(x, n);
  for (int64_t i = 0; i < n; ++i) x[i] /= total;
}

Result<Values> evaluate_softmax(const Evaluation& e) { return Values{along_dim(e, softmax_row)}; }
Result<Values> evaluate_softmin(const Evaluation& e) {
  return Values{along_dim(e, [](double* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x[i] = -x[i];
    softmax_row(x, n);
  })};
}
Result<Values> evaluate_log_softmax(const Evaluation& e) {
  return Values{along_dim(e, [](double* x, int64_t n) {
    double m = largest(x, n);
    double total = std::log(sum_over(0, n, [x, m](int64_t i) { return std::exp(x[i] - m); }));
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] - m - total;
  })};
}

/// Maximum, subtraction, exponential, sum, division: five an element.
Work softmax_cost(const Call& c) {
  const Shape& shape = c.shape(0);
  auto dim = normalize_dim(c.integer("dim"), shape.size());
  double n = shape.empty() || !dim ? 1 : static_cast<double>(shape[static_cast<size_t>(*dim)]);
  return {5 * static_cast<double>(saturating_product(shape)), n};
}

}  // namespace

std::vector<Operator> softmax_operators() {
  return {
      {"softmax(input, dim: int, dtype: str = None)", "exp(x) / Σ exp(x) along dim", infer_softmax,
       evaluate_softmax, softmax_cost},
      {"log_softmax(input, dim: int, dtype: str = None)", "log of softmax, without underflow",
       infer_softmax, evaluate_log_softmax, softmax_cost},
      {"softmin(input, dim: int, dtype: str = None)", "softmax of −x", infer_softmax,
       evaluate_softmin, softmax_cost},
  };
}

}  // namespace fiel::graph
