// Matrix products.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "graph/gemm.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/matrix.h"
#include "graph/ops/strided.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Result<DType> common_dtype(const Call& c, std::initializer_list<size_t> slots) {
  DType first = c.type(*slots.begin()).dtype;
  for (size_t slot : slots) {
    if (!c.given(slot)) continue;
    DType t = c.type(slot).dtype;
    if (t == DType::boolean) return refuse("is not defined on bools");
    if (t != first && !(is_floating(t) && is_floating(first)))
      return refuse(fmt::format("{} is {} where {} is {}; PyTorch does not promote here",
                                argument_name(c, slot), name_of(t),
                                argument_name(c, *slots.begin()), name_of(first)),
                    "cast one of them: to(x, \"f32\")");
  }
  return promote_slots(c, slots);
}

tl::unexpected<Error> inner_mismatch(const Call& c, int64_t a, int64_t b) {
  return refuse(fmt::format("{} and {} cannot be multiplied: inner extents {} and {} differ",
                            argument_name(c, 0), argument_name(c, 1), a, b));
}

Result<Types> infer_matmul(const Call& c) {
  FIEL_TRY(DType dtype, common_dtype(c, {0, 1}));
  Shape a = c.shape(0), b = c.shape(1);
  if (a.empty() || b.empty()) return refuse("both arguments must have at least one dimension");
  bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  int64_t k = a.back(), m = a[a.size() - 2], n = b.back();
  if (k != b[b.size() - 2]) return inner_mismatch(c, k, b[b.size() - 2]);
  FIEL_TRY(Shape out, broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  if (!vector_a) out.push_back(m);
  if (!vector_b) out.push_back(n);
  return one(dtype, std::move(out));
}
Result<Values> evaluate_matmul(const Evaluation& e) {
  Value a = *e.inputs[0], b = *e.inputs[1];
  if (a.rank() == 1) a = a.reshaped({1, a.size(0)});
  if (b.rank() == 1) b = b.reshaped({b.size(0), 1});
  Value out = matrix_product(a, b, e.call.results[0].dtype, e.threads);
  return Values{out.reshaped(e.call.results[0].shape)};
}

Work product_cost(const Call& c) {
  double k = static_cast<double>(c.shape(0).empty() ? 1 : c.shape(0).back());
  return {2 * k * static_cast<double>(saturating_product(c.results[0].shape)), k};
}

template <size_t Rank>
Result<Types> infer_strict(const Call& c) {
  FIEL_TRY_STATUS(need_rank(c, 0, Rank, Rank));
  FIEL_TRY_STATUS(need_rank(c, 1, Rank, Rank));
  if (Rank == 3 && c.shape(0)[0] != c.shape(1)[0])
    return refuse(fmt::format("batches of {} and {} differ", c.shape(0)[0], c.shape(1)[0]));
  return infer_matmul(c);
}

Result<Types> infer_dot(const Call& c) {
  FIEL_TRY_STATUS(need_rank(c, 0, 1, 1));
  FIEL_TRY_STATUS(need_rank(c, 1, 1, 1));
  return infer_matmul(c);
}

Result<Types> infer_mv(const Call& c) {
  FIEL_TRY_STATUS(need_rank(c, 0, 2, 2));
  FIEL_TRY_STATUS(need_rank(c, 1, 1, 1));
  return infer_matmul(c);
}

Result<Types> infer_outer(const Call& c) {
  FIEL_TRY_STATUS(need_rank(c, 0, 1, 1));
  FIEL_TRY_STATUS(need_rank(c, 1, 1, 1));
  return one(promote_all(c), {c.shape(0)[0], c.shape(1)[0]});
}
Result<Values> evaluate_outer(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  Value a = e.inputs[0]->cast(type.dtype).reshaped({type.shape[0], 1});
  Value b = e.inputs[1]->cast(type.dtype).reshaped({1, type.shape[1]});
  if (is_floating(type.dtype))
    return Values{map_reals(
        e, type, [](double x, double y) { return x * y; }, a, b)};
  return Values{matrix_product(a, b, type.dtype, e.threads)};
}

// --- linear

Result<Types> infer_linear(const Call& c) {
  FIEL_TRY(DType dtype, common_dtype(c, {0, 1, 2}));
  FIEL_TRY_STATUS(need_rank(c, 1, 1, 2));
  const Shape &x = c.shape(0), &w = c.shape(1);
  if (x.empty()) return refuse("input must have at least one dimension");
  if (x.back() != w.back()) return inner_mismatch(c, x.back(), w.back());
  Shape out(x.begin(), x.end() - 1);
  if (w.size() == 2) out.push_back(w[0]);
  if (c.given(2)) {
    FIEL_TRY(Shape with_bias, broadcast(out, c.shape(2)));
    if (with_bias != out || c.shape(2).size() > 1)
      return refuse(fmt::format("bias {} does not fit the result {}", fiel::to_string(c.shape(2)),
                                fiel::to_string(out)));
  }
  return one(dtype, std::move(out));
}
Result<Values> evaluate_linear(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  const Value &x = *e.inputs[0], &w = *e.inputs[1];
  int64_t k = w.shape().back(), n = w.rank() == 2 ? w.size(0) : 1;
  Value out;
  if (is_floating(type.dtype)) {
    out = Value::make(type);
    int64_t m = n == 0 ? 0 : out.count() / n;
    gemm({x.reals(), k, 1}, {w.reals(), 1, k}, out.reals(), n, m, n, k, e.threads);
  } else {
    Value transposed = permuted(w.reshaped({n, k}), {1, 0}, e.threads);
    Value rows =
        x.reshaped({k == 0 ? numel(type.shape) / std::max<int64_t>(n, 1) : x.count() / k, k});
    out = matrix_product(rows, transposed, type.dtype, e.threads).reshaped(type.shape);
  }
  if (!e.call.given(2)) return Values{std::move(out)};
  return Values{add_values(e, out, *e.inputs[2], type)};
}

Result<Types> infer_bilinear(const Call& c) {
  FIEL_TRY(DType dtype, common_dtype(c, {0, 1, 2, 3}));
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(need_rank(c, 2, 3, 3));
  FIEL_TRY_STATUS(need_rank(c, 3, 1, 1));
  Shape a = c.shape(0), b = c.shape(1);
  const Shape& w = c.shape(2);
  if (a.empty() || b.empty()) return refuse("both inputs must have at least one dimension");
  if (a.back() != w[1] || b.back() != w[2])
    return refuse(fmt::format("weight {} does not fit the inputs", fiel::to_string(w)));
  a.pop_back();
  b.pop_back();
  if (a != b) return refuse("the inputs differ before their last dimension");
  if (c.given(3) && c.shape(3)[0] != w[0]) return refuse("bias does not fit weight");
  a.push_back(w[0]);
  return one(dtype, std::move(a));
}
Result<Values> evaluate_bilinear(const Evaluation& e) {
  const Value &x = *e.inputs[0], &y = *e.inputs[1], &w = *e.inputs[2];
  int64_t out_features = w.size(0), p = w.size(1), q = w.size(2);
  Value out = Value::make(e.call.results[0]);
  int64_t rows = out_features == 0 ? 0 : out.count() / out_features;
  parallel_for(rows, 1, e.threads, [&](int64_t from, int64_t to) {
    for (int64_t r = from; r < to; ++r)
      for (int64_t o = 0; o < out_features; ++o) {
        double sum = 0;
        for (int64_t i = 0; i < p; ++i) {
          double inner = 0;
          for (int64_t j = 0; j < q; ++j)
            inner += w.reals()[(o * p + i) * q + j] * y.reals()[r * q + j];
          sum += x.reals()[r * p + i] * inner;
        }
        out.reals()[r * out_features + o] =
            sum + (e.inputs.size() > 3 && e.inputs[3] ? e.inputs[3]->reals()[o] : 0);
      }
  });
  return Values{std::move(out)};
}
Work bilinear_cost(const Call& c) {
  double p = static_cast<double>(c.shape(2)[1]), q = static_cast<double>(c.shape(2)[2]);
  return {2 * p * (q + 1) * static_cast<double>(saturating_product(c.results[0].shape)), p + q};
}

// --- beta · input + alpha · product

template <size_t Rank>
Result<Types> infer_added(const Call& c) {
  FIEL_TRY(DType dtype, common_dtype(c, {1, 2, 0}));
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(need_rank(c, 1, Rank, Rank));
  FIEL_TRY_STATUS(need_rank(c, 2, Rank, Rank));
  const Shape &a = c.shape(1), &b = c.shape(2);
  if (Rank == 3 && a[0] != b[0])
    return refuse(fmt::format("batches of {} and {} differ", a[0], b[0]));
  if (a[Rank - 1] != b[Rank - 2])
    return refuse(fmt::format("inner extents {} and {} differ", a[Rank - 1], b[Rank - 2]));
  Shape out = a;
  out[Rank - 1] = b[Rank - 1];
  FIEL_TRY(Shape with_input, broadcast(out, c.shape(0)));
  if (with_input != out)
    return refuse(fmt::format("input {} does not fit the product {}", fiel::to_string(c.shape(0)),
                              fiel::to_string(out)));
  return one(dtype, std::move(out));
}
Result<Values> evaluate_added(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  Value product = matrix_product(*e.inputs[1], *e.inputs[2], type.dtype, e.threads);
  double alpha = e.call.real("alpha"), beta = e.call.real("beta");
  // beta = 0 ignores the input altogether, NaN included.
  if (beta == 0)
    return Values{map_reals(
        e, type, [alpha](double p) { return alpha * p; }, product)};
  return Values{map_reals(
      e, type, [alpha, beta](double p, double x) { return beta * x + alpha * p; }, product,
      *e.inputs[0])};
}
Work added_cost(const Call& c) {
  double k = static_cast<double>(c.shape(1).back());
  double n = static_cast<double>(saturating_product(c.results[0].shape));
  return {(2 * k + 3) * n, k};
}

}  // namespace

std::vector<Operator> matmul_operators() {
  std::vector<Operator> rows = {
      {"matmul(input, other)",
       "matrix product over the last two dimensions, the others broadcast; vectors as PyTorch's",
       infer_matmul, evaluate_matmul, product_cost},
      {"mm(input, mat2)", "product of two matrices", infer_strict<2>, evaluate_matmul,
       product_cost},
      {"bmm(input, mat2)", "product of two batches of matrices", infer_strict<3>, evaluate_matmul,
       product_cost},
      {"mv(input, vec)", "matrix times vector", infer_mv, evaluate_matmul, product_cost},
      {"dot(input, tensor)", "inner product of two vectors", infer_dot, evaluate_matmul,
       product_cost},
      {"outer(input, vec2)", "outer product of two vectors", infer_outer, evaluate_outer,
       elementwise_cost},
      {"linear(input, weight, bias?)", "input · weightᵀ + bias", infer_linear, evaluate_linear,
       product_cost},
      {"bilinear(input1, input2, weight, bias?)", "input1ᵀ · weight[o] · input2 + bias[o]",
       infer_bilinear, evaluate_bilinear, bilinear_cost},
      {"addmm(input, mat1, mat2, beta: float = 1.0, alpha: float = 1.0)",
       "beta · input + alpha · (mat1 · mat2)", infer_added<2>, evaluate_added, added_cost},
      {"baddbmm(input, batch1, batch2, beta: float = 1.0, alpha: float = 1.0)",
       "addmm over a batch", infer_added<3>, evaluate_added, added_cost},
  };
  for (Operator& op : einsum_operators()) rows.push_back(std::move(op));
  return rows;
}

}  // namespace fiel::graph
