// Running reductions along one dimension, and orderings.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/ops/elementwise.h"
#include "graph/ops/strided.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Result<size_t> dim_of(const Call& c) {
  FIEL_TRY(int64_t dim, normalize_dim(c.integer("dim"), c.shape(0).size()));
  return static_cast<size_t>(dim);
}

Result<Types> infer_cumulative(const Call& c) {
  FIEL_TRY_STATUS(dim_of(c).map([](size_t) {}));
  DType t = c.type(0).dtype;
  FIEL_TRY(DType dtype, dtype_attribute(c, "dtype", is_floating(t) ? t : DType::i64));
  return one(dtype, c.shape(0));
}

/// f(first element, step, n) for each line along dim, in parallel.
template <typename F>
void for_each_line(const Evaluation& e, const Shape& shape, size_t dim, F f) {
  Axis axis = axis_of(shape, dim);
  if (axis.length == 0) return;
  int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(axis.length, 1));
  parallel_for(axis.outer * axis.inner, grain, e.threads, [&](int64_t from, int64_t to) {
    for (int64_t l = from; l < to; ++l)
      f(l / axis.inner * axis.length * axis.inner + l % axis.inner, axis.inner, axis.length);
  });
}

/// A running sum with the rounding of each addition carried along (Neumaier): its error stays at
/// 2^-53 of the sum of magnitudes, however long the line.
void running_sum(const double* x, double* y, int64_t step, int64_t n) {
  double total = 0, lost = 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = x[i * step], next = total + v;
    double error = std::fabs(total) >= std::fabs(v) ? (total - next) + v : (v - next) + total;
    if (std::isfinite(error)) lost += error;
    total = next;
    y[i * step] = std::isfinite(total) ? total + lost : total;
  }
}

Result<Values> evaluate_cumsum(const Evaluation& e) {
  Value x = e.inputs[0]->cast(e.call.results[0].dtype), out = Value::make(e.call.results[0]);
  for_each_line(e, x.shape(), dim_of(e.call).value(), [&](int64_t at, int64_t step, int64_t n) {
    if (out.floating()) return running_sum(x.reals() + at, out.reals() + at, step, n);
    uint64_t total = 0;
    for (int64_t i = 0; i < n; ++i) {
      total += static_cast<uint64_t>(x.integers()[at + i * step]);
      out.integers()[at + i * step] = wrap_integer(out.dtype(), static_cast<int64_t>(total));
    }
  });
  return Values{std::move(out)};
}
Result<Values> evaluate_cumprod(const Evaluation& e) {
  Value x = e.inputs[0]->cast(e.call.results[0].dtype), out = Value::make(e.call.results[0]);
  for_each_line(e, x.shape(), dim_of(e.call).value(), [&](int64_t at, int64_t step, int64_t n) {
    double real = 1;
    uint64_t integer = 1;
    for (int64_t i = 0; i < n; ++i) {
      int64_t k = at + i * step;
      if (out.floating())
        out.reals()[k] = real *= x.reals()[k];
      else
        out.integers()[k] = wrap_integer(
            out.dtype(), static_cast<int64_t>(integer *= static_cast<uint64_t>(x.integers()[k])));
    }
  });
  return Values{std::move(out)};
}

Result<Types> infer_extreme_scan(const Call& c) {
  FIEL_TRY_STATUS(dim_of(c).map([](size_t) {}));
  return Types{{c.type(0).dtype, c.shape(0)}, {DType::i64, c.shape(0)}};
}
template <bool Max>
Result<Values> evaluate_extreme_scan(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  Value out = Value::make(e.call.results[0]), index = Value::make(e.call.results[1]);
  // The last of equal ones counts, and a NaN beats everything, as in PyTorch.
  for_each_line(e, x.shape(), dim_of(e.call).value(), [&](int64_t at, int64_t step, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 0; i < n; ++i) {
      int64_t here = at + i * step, there = at + best * step;
      bool better = x.floating() ? std::isnan(x.reals()[here]) ||
                                       (!std::isnan(x.reals()[there]) &&
                                        (Max ? x.reals()[here] >= x.reals()[there]
                                             : x.reals()[here] <= x.reals()[there]))
                                 : (Max ? x.integers()[here] >= x.integers()[there]
                                        : x.integers()[here] <= x.integers()[there]);
      if (better) best = i;
      if (x.floating())
        out.reals()[here] = x.reals()[at + best * step];
      else
        out.integers()[here] = x.integers()[at + best * step];
      index.integers()[here] = best;
    }
  });
  return Values{std::move(out), std::move(index)};
}

Result<Types> infer_logcumsumexp(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(dim_of(c).map([](size_t) {}));
  return one(c.type(0).dtype, c.shape(0));
}
Result<Values> evaluate_logcumsumexp(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  Value out = Value::make(e.call.results[0]);
  for_each_line(e, x.shape(), dim_of(e.call).value(), [&](int64_t at, int64_t step, int64_t n) {
    double running = -INFINITY;
    for (int64_t i = 0; i < n; ++i) {
      double v = x.reals()[at + i * step];
      double high = std::isnan(v) || v > running ? v : running, low = high == v ? running : v;
      if (std::isnan(running) || std::isnan(v))
        running = NAN;
      else if (std::isfinite(high) || low != high)
        running = std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
      out.reals()[at + i * step] = running;
    }
  });
  return Values{std::move(out)};
}

// --- order

/// NaN is larger than any number, as PyTorch sorts.
template <typename T>
bool less(T a, T b) {
  return a < b || (b != b && a == a);
}

/// Positions of a line in order; equal ones keep theirs.
template <typename T>
std::vector<int64_t> order_of(const T* x, int64_t step, int64_t n, bool descending) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    T u = x[a * step], v = x[b * step];
    return descending ? less(v, u) : less(u, v);
  });
  return order;
}

/// The first `k` of each line in order: values and where they were.
Values ordered(const Evaluation& e, bool descending, int64_t k) {
  const Value& x = *e.inputs[0];
  size_t dim = dim_of(e.call).value();
  Shape shape = x.shape();
  if (!shape.empty()) shape[dim] = k;
  Value out = Value::make({x.dtype(), shape}), index = Value::make({DType::i64, shape});
  Axis axis = axis_of(x.shape(), dim);
  for_each_line(e, x.shape(), dim, [&](int64_t at, int64_t step, int64_t n) {
    auto order = x.floating() ? order_of(x.reals() + at, step, n, descending)
                              : order_of(x.integers() + at, step, n, descending);
    int64_t outer = at / (axis.length * axis.inner), inner = at % axis.inner;
    for (int64_t i = 0; i < k; ++i) {
      int64_t to = (outer * k + i) * axis.inner + inner,
              from = at + order[static_cast<size_t>(i)] * step;
      if (x.floating())
        out.reals()[to] = x.reals()[from];
      else
        out.integers()[to] = x.integers()[from];
      index.integers()[to] = order[static_cast<size_t>(i)];
    }
  });
  return {std::move(out), std::move(index)};
}

int64_t line_length(const Call& c, size_t dim) { return c.shape(0).empty() ? 1 : c.shape(0)[dim]; }

Result<Types> infer_sort(const Call& c) { return infer_extreme_scan(c); }
Result<Values> evaluate_sort(const Evaluation& e) {
  return ordered(e, e.call.flag("descending"), line_length(e.call, dim_of(e.call).value()));
}
Result<Types> infer_argsort(const Call& c) {
  FIEL_TRY_STATUS(dim_of(c).map([](size_t) {}));
  return one(DType::i64, c.shape(0));
}
Result<Values> evaluate_argsort(const Evaluation& e) { return Values{(*evaluate_sort(e))[1]}; }
Result<Types> infer_topk(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  int64_t k = c.integer("k");
  if (k < 0 || k > line_length(c, dim))
    return refuse(fmt::format("k = {} of a dimension of {}", k, line_length(c, dim)));
  if (!c.flag("sorted")) return refuse("only sorted results are defined well enough to compare");
  Shape out = c.shape(0);
  if (!out.empty()) out[dim] = k;
  return Types{{c.type(0).dtype, out}, {DType::i64, out}};
}
Result<Values> evaluate_topk(const Evaluation& e) {
  return ordered(e, e.call.flag("largest"), e.call.shape(0).empty() ? 1 : e.call.integer("k"));
}
Result<Types> infer_kthvalue(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  int64_t k = c.integer("k");
  if (k < 1 || k > line_length(c, dim))
    return refuse(fmt::format("k = {} of a dimension of {}", k, line_length(c, dim)));
  Shape out = c.shape(0);
  if (!out.empty() && c.flag("keepdim"))
    out[dim] = 1;
  else if (!out.empty())
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(dim));
  return Types{{c.type(0).dtype, out}, {DType::i64, out}};
}
Values nth(const Evaluation& e, int64_t k, bool nan_wins) {
  const Value& x = *e.inputs[0];
  size_t dim = dim_of(e.call).value();
  Axis axis = axis_of(x.shape(), dim);
  Value out = Value::make(e.call.results[0]), index = Value::make(e.call.results[1]);
  for_each_line(e, x.shape(), dim, [&](int64_t at, int64_t step, int64_t n) {
    auto order = x.floating() ? order_of(x.reals() + at, step, n, false)
                              : order_of(x.integers() + at, step, n, false);
    int64_t pick = order[static_cast<size_t>(k)];
    for (int64_t i = 0; nan_wins && x.floating() && i < n; ++i)
      if (std::isnan(x.reals()[at + i * step])) {
        pick = i;
        break;
      }
    int64_t to = at / (axis.length * axis.inner) * axis.inner + at % axis.inner;
    if (x.floating())
      out.reals()[to] = x.reals()[at + pick * step];
    else
      out.integers()[to] = x.integers()[at + pick * step];
    index.integers()[to] = pick;
  });
  return {std::move(out), std::move(index)};
}
Result<Values> evaluate_kthvalue(const Evaluation& e) {
  return nth(e, e.call.integer("k") - 1, false);
}
Result<Types> infer_median(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  if (line_length(c, dim) < 1) return refuse("has no value over zero elements");
  Shape out = c.shape(0);
  if (!out.empty() && c.flag("keepdim"))
    out[dim] = 1;
  else if (!out.empty())
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(dim));
  return Types{{c.type(0).dtype, out}, {DType::i64, out}};
}
Result<Values> evaluate_median(const Evaluation& e) {
  return nth(e, (line_length(e.call, dim_of(e.call).value()) - 1) / 2, true);
}

Work scan_cost(const Call& c) {
  auto dim = dim_of(c);
  return {static_cast<double>(saturating_product(c.shape(0))),
          dim ? static_cast<double>(line_length(c, *dim)) : 1};
}
Work compare_cost(const Call& c) {
  double n = static_cast<double>(saturating_product(c.shape(0)));
  return {n * std::max(1.0, std::log2(std::max(2.0, scan_cost(c).reduction_length))), 0};
}

}  // namespace

std::vector<Operator> scan_operators() {
  return {
      {"cumsum(input, dim: int, dtype: str = None)", "running sum", infer_cumulative,
       evaluate_cumsum, scan_cost},
      {"cumprod(input, dim: int, dtype: str = None)", "running product", infer_cumulative,
       evaluate_cumprod, scan_cost},
      {"cummax(input, dim: int)", "running maximum: values, indices", infer_extreme_scan,
       evaluate_extreme_scan<true>, compare_cost, 2},
      {"cummin(input, dim: int)", "running minimum: values, indices", infer_extreme_scan,
       evaluate_extreme_scan<false>, compare_cost, 2},
      {"logcumsumexp(input, dim: int)", "log of the running sum of exponentials",
       infer_logcumsumexp, evaluate_logcumsumexp, scan_cost},
      {"sort(input, dim: int = -1, descending: bool = False)",
       "sorted, stable: values, indices; NaN is largest", infer_sort, evaluate_sort, compare_cost,
       2},
      {"argsort(input, dim: int = -1, descending: bool = False)", "indices that sort, stable",
       infer_argsort, evaluate_argsort, compare_cost},
      {"topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True)",
       "the k largest (or smallest), in order: values, indices", infer_topk, evaluate_topk,
       compare_cost, 2},
      {"kthvalue(input, k: int, dim: int = -1, keepdim: bool = False)",
       "the k-th smallest: value, index", infer_kthvalue, evaluate_kthvalue, compare_cost, 2},
      {"median(input, dim: int = -1, keepdim: bool = False)",
       "the lower median along dim: value, index", infer_median, evaluate_median, compare_cost, 2},
  };
}

}  // namespace fiel::graph
