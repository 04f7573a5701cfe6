// Distances between vectors, and the losses made of them.
#include <fmt/core.h>

#include <cmath>

#include "graph/norms.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/strided.h"
#include "graph/sum.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Value expanded(const Evaluation& e, const Value& x, const Shape& shape) {
  return strided_copy(x, shape, broadcast_strides(x.shape(), shape), 0, e.threads);
}

/// f(row of a, row of b, n) along `dim` of the broadcast pair.
template <typename F>
Value over_pairs(const Evaluation& e, const Value& a, const Value& b, size_t dim, F f) {
  Shape shape = broadcast(a.shape(), b.shape()).value();
  std::vector<int64_t> dims;
  if (!shape.empty()) dims.push_back(static_cast<int64_t>(dim));
  Value x = rows_of(expanded(e, a, shape), dims, e.threads);
  Value y = rows_of(expanded(e, b, shape), dims, e.threads);
  int64_t n = x.size(1);
  Value out = Value::make({DType::f64, {x.size(0)}});
  parallel_for(x.size(0), std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t r = from; r < to; ++r)
                   out.reals()[r] = f(x.reals() + r * n, y.reals() + r * n, n);
               });
  return out;
}

Shape without(Shape shape, size_t dim) {
  if (!shape.empty()) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return shape;
}

Status floating_pair(const Call& c) {
  for (size_t slot = 0; slot < c.inputs.size() && slot < 3; ++slot)
    if (c.op->name != "cosine_embedding_loss" || slot < 2) FIEL_TRY_STATUS(need_floating(c, slot));
  return {};
}

// --- cosine_similarity

Result<Types> infer_cosine(const Call& c) {
  FIEL_TRY_STATUS(floating_pair(c));
  FIEL_TRY(Shape shape, broadcast(c.shape(0), c.shape(1)));
  FIEL_TRY(int64_t dim, normalize_dim(c.integer("dim"), shape.size()));
  return one(promote_all(c), without(shape, static_cast<size_t>(dim)));
}
Result<Values> evaluate_cosine(const Evaluation& e) {
  double eps = e.call.real("eps");
  size_t rank = std::max(e.inputs[0]->rank(), e.inputs[1]->rank());
  auto dim = static_cast<size_t>(normalize_dim(e.call.integer("dim"), rank).value());
  Value out = over_pairs(
      e, *e.inputs[0], *e.inputs[1], dim, [eps](const double* x, const double* y, int64_t n) {
        double a = p_norm(x, n, 2), b = p_norm(y, n, 2);
        a = a < eps ? eps : a;
        b = b < eps ? eps : b;
        return sum_over(0, n, [&](int64_t i) { return (x[i] / a) * (y[i] / b); });
      });
  return Values{out.as_dtype(e.call.results[0].dtype).reshaped(e.call.results[0].shape)};
}

Result<Types> infer_cosine_embedding(const Call& c) {
  FIEL_TRY_STATUS(check_reduction(c, false));
  FIEL_TRY_STATUS(floating_pair(c));
  FIEL_TRY_STATUS(need_rank(c, 0, 1, 2));
  if (c.shape(0).size() != c.shape(1).size()) return refuse("the inputs differ in rank");
  FIEL_TRY(Shape shape, broadcast(c.shape(0), c.shape(1)));
  shape = without(shape, shape.size() - 1);
  if (c.shape(2) != shape)
    return refuse(fmt::format("target must have shape {}", fiel::to_string(shape)));
  return reduced_loss(c, promote_slots(c, {0, 1}), std::move(shape));
}
Result<Values> evaluate_cosine_embedding(const Evaluation& e) {
  // PyTorch's own formula, with this epsilon inside the root.
  constexpr double kEpsilon = 1e-12;
  double margin = e.call.real("margin");
  Value cosine = over_pairs(e, *e.inputs[0], *e.inputs[1], e.inputs[0]->rank() - 1,
                            [](const double* x, const double* y, int64_t n) {
                              double xy = sum_over(0, n, [&](int64_t i) { return x[i] * y[i]; });
                              double xx = sum_over(0, n, [&](int64_t i) { return x[i] * x[i]; });
                              double yy = sum_over(0, n, [&](int64_t i) { return y[i] * y[i]; });
                              return xy / std::sqrt((xx + kEpsilon) * (yy + kEpsilon));
                            });
  const Value& target = *e.inputs[2];
  Value each = Value::make({DType::f64, {cosine.count()}});
  for (int64_t i = 0; i < cosine.count(); ++i) {
    double c = cosine.reals()[i], y = target.real_at(i), apart = c - margin;
    each.reals()[i] = y == 1 ? 1 - c : y == -1 ? (apart < 0 ? 0 : apart) : 0;
  }
  auto n = static_cast<double>(each.count());
  return reduce_loss(e, std::move(each), n);
}

// --- p-norm distances

Result<Types> infer_pairwise(const Call& c) {
  FIEL_TRY_STATUS(floating_pair(c));
  FIEL_TRY(Shape shape, broadcast(c.shape(0), c.shape(1)));
  if (shape.empty()) return refuse("the inputs must have a dimension");
  if (c.flag("keepdim"))
    shape.back() = 1;
  else
    shape.pop_back();
  return one(promote_all(c), std::move(shape));
}
Value pairwise(const Evaluation& e, const Value& a, const Value& b, double p, double eps) {
  size_t rank = std::max(a.rank(), b.rank());
  return over_pairs(e, a, b, rank - 1, [p, eps](const double* x, const double* y, int64_t n) {
    std::vector<double> difference(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) difference[static_cast<size_t>(i)] = x[i] - y[i] + eps;
    return p_norm(difference.data(), n, p);
  });
}
Result<Values> evaluate_pairwise(const Evaluation& e) {
  Value out = pairwise(e, *e.inputs[0], *e.inputs[1], e.call.real("p"), e.call.real("eps"));
  return Values{out.as_dtype(e.call.results[0].dtype).reshaped(e.call.results[0].shape)};
}

Result<Types> infer_triplet(const Call& c) {
  FIEL_TRY_STATUS(check_reduction(c, false));
  FIEL_TRY_STATUS(floating_pair(c));
  FIEL_TRY(Shape shape, broadcast_all(c));
  size_t rank = c.shape(0).size();
  if (rank == 0 || c.shape(1).size() != rank || c.shape(2).size() != rank)
    return refuse("anchor, positive and negative must have the same rank");
  shape.pop_back();
  return reduced_loss(c, promote_all(c), std::move(shape));
}
Result<Values> evaluate_triplet(const Evaluation& e) {
  double p = e.call.real("p"), eps = e.call.real("eps"), margin = e.call.real("margin");
  Shape shape = broadcast_all(e.call).value();
  Value anchor = expanded(e, *e.inputs[0], shape), positive = expanded(e, *e.inputs[1], shape);
  Value negative = expanded(e, *e.inputs[2], shape);
  Value near = pairwise(e, anchor, positive, p, eps), far = pairwise(e, anchor, negative, p, eps);
  Value swapped = e.call.flag("swap") ? pairwise(e, positive, negative, p, eps) : far;
  Value each = Value::make(near.type());
  for (int64_t i = 0; i < each.count(); ++i) {
    double s = swapped.reals()[i], f = far.reals()[i];
    double v = margin + near.reals()[i] - (std::isnan(s) || s < f ? s : f);
    each.reals()[i] = v < 0 ? 0 : v;
  }
  auto n = static_cast<double>(each.count());
  return reduce_loss(e, std::move(each), n);
}

Result<Types> infer_cdist(const Call& c) {
  FIEL_TRY_STATUS(floating_pair(c));
  Shape a = c.shape(0), b = c.shape(1);
  if (a.size() < 2 || b.size() < 2) return refuse("both inputs must have at least two dimensions");
  if (a.back() != b.back()) return refuse(fmt::format("vectors of {} and {}", a.back(), b.back()));
  if (c.real("p") < 0) return refuse("p must not be negative");
  FIEL_TRY(Shape out, broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  out.push_back(a[a.size() - 2]);
  out.push_back(b[b.size() - 2]);
  return one(promote_all(c), std::move(out));
}
Result<Values> evaluate_cdist(const Evaluation& e) {
  const Value &a = *e.inputs[0], &b = *e.inputs[1];
  double p = e.call.real("p");
  int64_t n = a.shape().back(), rows = a.size(a.rank() - 2), columns = b.size(b.rank() - 2);
  const Shape& out_shape = e.call.results[0].shape;
  Shape batch(out_shape.begin(), out_shape.end() - 2), full_a = batch, full_b = batch;
  full_a.insert(full_a.end(), {rows, n});
  full_b.insert(full_b.end(), {columns, n});
  Value x = expanded(e, a, full_a), y = expanded(e, b, full_b);
  Value out = Value::make(e.call.results[0]);
  parallel_for(numel(batch) * rows, 1, e.threads, [&](int64_t from, int64_t to) {
    std::vector<double> difference(static_cast<size_t>(n));
    for (int64_t r = from; r < to; ++r)
      for (int64_t q = 0; q < columns; ++q) {
        const double* other = y.reals() + (r / rows * columns + q) * n;
        for (int64_t i = 0; i < n; ++i)
          difference[static_cast<size_t>(i)] = x.reals()[r * n + i] - other[i];
        out.reals()[r * columns + q] = p_norm(difference.data(), n, p);
      }
  });
  return Values{std::move(out)};
}

double last_extent(const Call& c) {
  return c.shape(0).empty() ? 1 : static_cast<double>(c.shape(0).back());
}
Work pair_cost(const Call& c) {
  return {6 * static_cast<double>(saturating_product(broadcast(c.shape(0), c.shape(1)).value())),
          last_extent(c)};
}
Work cdist_cost(const Call& c) {
  double n = last_extent(c);
  return {3 * n * static_cast<double>(saturating_product(c.results[0].shape)), n};
}
Work pair_loss_cost(const Call& c) {
  Work w = pair_cost(c);
  double rows = static_cast<double>(saturating_product(c.shape(0))) / std::max(1.0, last_extent(c));
  if (c.text("reduction") != "none") w.reduction_length += rows;
  return w;
}

}  // namespace

std::vector<Operator> distance_operators() {
  return {
      {"cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-08)",
       "x1 · x2 / (‖x1‖ ‖x2‖) along dim", infer_cosine, evaluate_cosine, pair_cost},
      {"pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False)",
       "‖x1 − x2 + eps‖_p over the last dimension", infer_pairwise, evaluate_pairwise, pair_cost},
      {"cdist(x1, x2, p: float = 2.0)", "p-norm distance of every row of x1 to every row of x2",
       infer_cdist, evaluate_cdist, cdist_cost},
      {"triplet_margin_loss(anchor, positive, negative, margin: float = 1.0, p: float = 2.0, eps: "
       "float = 1e-06, swap: bool = False, reduction: str = \"mean\")",
       "max(0, margin + d(anchor, positive) − d(anchor, negative))", infer_triplet,
       evaluate_triplet, pair_loss_cost},
      {"cosine_embedding_loss(input1, input2, target, margin: float = 0.0, reduction: str = "
       "\"mean\")",
       "1 − cos where target = 1, max(0, cos − margin) where −1", infer_cosine_embedding,
       evaluate_cosine_embedding, pair_loss_cost},
  };
}

}  // namespace fiel::graph
