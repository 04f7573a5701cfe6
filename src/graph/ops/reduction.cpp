// Reductions over some or all dimensions.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "graph/norms.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/strided.h"
#include "graph/sum.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// The dimensions that go: all where `dim` is None (or, as PyTorch has it, an empty list).
Result<std::vector<int64_t>> reduced_dims(const Call& c) {
  size_t rank = c.shape(0).size();
  if (!c.has("dim")) return normalize_dims({}, rank);
  const Attribute* dim = c.find("dim");
  if (auto* one_dim = std::get_if<int64_t>(dim)) return normalize_dims({*one_dim}, rank);
  return normalize_dims(c.integers("dim"), rank);
}

Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& dims, bool keep) {
  Shape out;
  size_t next = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool gone = next < dims.size() && dims[next] == static_cast<int64_t>(i);
    if (gone) ++next;
    if (!gone)
      out.push_back(shape[i]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

int64_t reduced_count(const Call& c) {
  auto dims = reduced_dims(c);
  int64_t n = 1;
  for (int64_t d : *dims) n *= c.shape(0)[static_cast<size_t>(d)];
  return n;
}

Result<Types> infer_as(const Call& c, DType dtype) {
  FIEL_TRY(std::vector<int64_t> dims, reduced_dims(c));
  return one(dtype, reduced_shape(c.shape(0), dims, c.flag("keepdim")));
}

Status refuse_empty(const Call& c) {
  FIEL_TRY_STATUS(reduced_dims(c).map([](const auto&) {}));
  if (reduced_count(c) == 0) return refuse("has no value over zero elements");
  return {};
}

Result<Types> infer_sum(const Call& c) {
  DType t = c.type(0).dtype;
  FIEL_TRY(DType dtype, dtype_attribute(c, "dtype", is_floating(t) ? t : DType::i64));
  return infer_as(c, dtype);
}
Result<Types> infer_mean(const Call& c) {
  FIEL_TRY(DType dtype, dtype_attribute(c, "dtype", c.type(0).dtype));
  if (!is_floating(dtype))
    return refuse("input must be floating", "give dtype=\"f32\", or cast: to(x, \"f32\")");
  return infer_as(c, dtype);
}
Result<Types> infer_floating(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  return infer_as(c, c.type(0).dtype);
}
Result<Types> infer_extreme(const Call& c) {
  FIEL_TRY_STATUS(refuse_empty(c));
  return infer_as(c, c.type(0).dtype);
}
Result<Types> infer_logical(const Call& c) {
  return infer_as(c, c.type(0).dtype == DType::u8 ? DType::u8 : DType::boolean);
}

/// [kept, reduced] rows, one result each: f(row, n) over doubles.
template <typename F>
Value reduce_reals(const Evaluation& e, F f) {
  auto dims = reduced_dims(e.call).value();
  Value rows = rows_of(e.inputs[0]->to_reals(), dims, e.threads);
  Value out = Value::make(e.call.results[0]);
  int64_t n = rows.size(1);
  parallel_for(rows.size(0), std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t r = from; r < to; ++r) out.reals()[r] = f(rows.reals() + r * n, n);
               });
  return out;
}
template <typename F>
Value reduce_integers(const Evaluation& e, const Value& x, const TensorType& type, F f) {
  auto dims = reduced_dims(e.call).value();
  Value rows = rows_of(x, dims, e.threads);
  Value out = Value::make(type);
  int64_t n = rows.size(1);
  parallel_for(rows.size(0), std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t r = from; r < to; ++r)
                   out.integers()[r] = wrap_integer(type.dtype, f(rows.integers() + r * n, n));
               });
  return out;
}

Result<Values> evaluate_sum(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  if (is_floating(type.dtype)) return Values{reduce_reals(e, sum)};
  return Values{
      reduce_integers(e, e.inputs[0]->cast(type.dtype), type, [](const int64_t* x, int64_t n) {
        uint64_t total = 0;
        for (int64_t i = 0; i < n; ++i) total += static_cast<uint64_t>(x[i]);
        return static_cast<int64_t>(total);
      })};
}
Result<Values> evaluate_mean(const Evaluation& e) {
  return Values{reduce_reals(
      e, [](const double* x, int64_t n) { return sum(x, n) / static_cast<double>(n); })};
}
Result<Values> evaluate_prod(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  if (is_floating(type.dtype))
    return Values{reduce_reals(e, [](const double* x, int64_t n) {
      double product = 1;
      for (int64_t i = 0; i < n; ++i) product *= x[i];
      return product;
    })};
  return Values{
      reduce_integers(e, e.inputs[0]->cast(type.dtype), type, [](const int64_t* x, int64_t n) {
        uint64_t product = 1;
        for (int64_t i = 0; i < n; ++i) product *= static_cast<uint64_t>(x[i]);
        return static_cast<int64_t>(product);
      })};
}

// --- extremes

/// Position of the first extreme; a NaN is more extreme than anything.
template <bool Max, typename T>
int64_t extreme_position(const T* x, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] != x[i]) return i;
    if (Max ? x[i] > x[best] : x[i] < x[best]) best = i;
  }
  return best;
}

template <bool Max>
Value extreme_values(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  auto f = [](const auto* row, int64_t n) { return row[extreme_position<Max>(row, n)]; };
  if (x.floating()) return reduce_reals(e, f);
  return reduce_integers(e, x, e.call.results[0], f);
}
template <bool Max>
Value extreme_indices(const Evaluation& e, const TensorType& type) {
  auto dims = reduced_dims(e.call).value();
  Value rows = rows_of(*e.inputs[0], dims, e.threads);
  Value out = Value::make(type);
  int64_t n = rows.size(1);
  parallel_for(rows.size(0), std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t r = from; r < to; ++r)
                   out.integers()[r] = rows.floating()
                                           ? extreme_position<Max>(rows.reals() + r * n, n)
                                           : extreme_position<Max>(rows.integers() + r * n, n);
               });
  return out;
}

template <bool Max>
Result<Values> evaluate_extreme(const Evaluation& e) {
  return Values{extreme_values<Max>(e)};
}

Result<Types> infer_max(const Call& c) {
  FIEL_TRY(Types types, infer_extreme(c));
  if (c.has("dim"))
    types.push_back({DType::i64, types[0].shape});
  else if (c.flag("keepdim"))
    return refuse("keepdim needs dim");
  return types;
}
template <bool Max>
Result<Values> evaluate_max(const Evaluation& e) {
  Values out{extreme_values<Max>(e)};
  if (e.call.has("dim")) out.push_back(extreme_indices<Max>(e, e.call.results[1]));
  return out;
}

Result<Types> infer_arg(const Call& c) {
  FIEL_TRY_STATUS(refuse_empty(c));
  return infer_as(c, DType::i64);
}
template <bool Max>
Result<Values> evaluate_arg(const Evaluation& e) {
  return Values{extreme_indices<Max>(e, e.call.results[0])};
}

template <bool All>
Result<Values> evaluate_logical(const Evaluation& e) {
  Value truth = e.inputs[0]->cast(DType::boolean);
  return Values{reduce_integers(e, truth, e.call.results[0], [](const int64_t* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      if ((x[i] != 0) != All) return int64_t{!All};
    return int64_t{All};
  })};
}

// --- spread, norms

double variance(const double* x, int64_t n, double correction) {
  double freedom = static_cast<double>(n) - correction;
  return moments(x, n).squares / std::max(freedom, 0.0);
}
Result<Values> evaluate_var(const Evaluation& e) {
  double correction = e.call.real("correction");
  return Values{
      reduce_reals(e, [=](const double* x, int64_t n) { return variance(x, n, correction); })};
}
Result<Values> evaluate_std(const Evaluation& e) {
  double correction = e.call.real("correction");
  return Values{reduce_reals(
      e, [=](const double* x, int64_t n) { return std::sqrt(variance(x, n, correction)); })};
}
Result<Types> infer_var_mean(const Call& c) {
  FIEL_TRY(Types types, infer_floating(c));
  types.push_back(types[0]);
  return types;
}
Result<Values> evaluate_var_mean(const Evaluation& e) {
  Values out = *evaluate_var(e);
  out.push_back((*evaluate_mean(e))[0]);
  return out;
}

Result<Values> evaluate_norm(const Evaluation& e) {
  double p = e.call.real("p");
  return Values{reduce_reals(e, [p](const double* x, int64_t n) { return p_norm(x, n, p); })};
}

double logsumexp(const double* x, int64_t n) {
  if (n == 0) return -kInf;
  double m = x[extreme_position<true>(x, n)];
  if (std::isinf(m)) m = 0;  // as PyTorch: infinities then take part on their own
  return m + std::log(sum_over(0, n, [x, m](int64_t i) { return std::exp(x[i] - m); }));
}
Result<Types> infer_logsumexp(const Call& c) {
  return infer_as(c, floating_or_default(c.type(0).dtype));
}
Result<Values> evaluate_logsumexp(const Evaluation& e) {
  return Values{reduce_reals(e, logsumexp)};
}

Result<Types> infer_count(const Call& c) { return infer_as(c, DType::i64); }
Result<Values> evaluate_count(const Evaluation& e) {
  Value truth = e.inputs[0]->cast(DType::boolean);
  return Values{reduce_integers(e, truth, e.call.results[0], [](const int64_t* x, int64_t n) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += x[i];
    return total;
  })};
}

/// `PerElement` operations an input element; the chain is as long as what is reduced.
template <int PerElement>
Work reduce_cost(const Call& c) {
  return {PerElement * static_cast<double>(saturating_product(c.shape(0))),
          static_cast<double>(reduced_count(c))};
}
/// Comparisons do not round.
Work exact_cost(const Call& c) { return {static_cast<double>(saturating_product(c.shape(0))), 0}; }

}  // namespace

std::vector<Operator> reduction_operators() {
  return {
      {"sum(input, dim: int[] = None, keepdim: bool = False, dtype: str = None)",
       "sum; integers and bools give i64", infer_sum, evaluate_sum, reduce_cost<1>},
      {"mean(input, dim: int[] = None, keepdim: bool = False, dtype: str = None)", "mean",
       infer_mean, evaluate_mean, reduce_cost<1>},
      {"prod(input, dim: int = None, keepdim: bool = False, dtype: str = None)", "product",
       infer_sum, evaluate_prod, reduce_cost<1>},
      {"max(input, dim: int = None, keepdim: bool = False)",
       "largest value; with dim also where it is: values, indices. Of two tensors: maximum",
       infer_max, evaluate_max<true>, exact_cost, 2},
      {"min(input, dim: int = None, keepdim: bool = False)",
       "smallest value; with dim also where it is: values, indices. Of two tensors: minimum",
       infer_max, evaluate_max<false>, exact_cost, 2},
      {"amax(input, dim: int[] = [], keepdim: bool = False)", "largest value", infer_extreme,
       evaluate_extreme<true>, exact_cost},
      {"amin(input, dim: int[] = [], keepdim: bool = False)", "smallest value", infer_extreme,
       evaluate_extreme<false>, exact_cost},
      {"argmax(input, dim: int = None, keepdim: bool = False)", "index of the (first) largest",
       infer_arg, evaluate_arg<true>, exact_cost},
      {"argmin(input, dim: int = None, keepdim: bool = False)", "index of the (first) smallest",
       infer_arg, evaluate_arg<false>, exact_cost},
      {"all(input, dim: int[] = None, keepdim: bool = False)", "no element is 0", infer_logical,
       evaluate_logical<true>, exact_cost},
      {"any(input, dim: int[] = None, keepdim: bool = False)", "some element is not 0",
       infer_logical, evaluate_logical<false>, exact_cost},
      {"count_nonzero(input, dim: int[] = None, keepdim: bool = False)",
       "how many elements are not 0", infer_count, evaluate_count, exact_cost},
      {"var(input, dim: int[] = None, correction: float = 1.0, keepdim: bool = False)",
       "variance; the divisor is n − correction", infer_floating, evaluate_var, reduce_cost<4>},
      {"std(input, dim: int[] = None, correction: float = 1.0, keepdim: bool = False)",
       "standard deviation", infer_floating, evaluate_std, reduce_cost<4>},
      {"var_mean(input, dim: int[] = None, correction: float = 1.0, keepdim: bool = False)",
       "variance and mean", infer_var_mean, evaluate_var_mean, reduce_cost<5>, 2},
      {"norm(input, p: float = 2.0, dim: int[] = None, keepdim: bool = False)",
       "vector p-norm: (Σ \\|x\\|^p)^(1/p); p may be 0, inf, -inf", infer_floating, evaluate_norm,
       reduce_cost<2>},
      {"logsumexp(input, dim: int[], keepdim: bool = False)", "log Σ exp(x), without overflow",
       infer_logsumexp, evaluate_logsumexp, reduce_cost<3>},
  };
}

}  // namespace fiel::graph
