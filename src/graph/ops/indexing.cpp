// Operators that read or write where an index tensor says. Indices come from outside: each is
// checked before it is used.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "graph/ops/elementwise.h"
#include "graph/ops/strided.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Result<size_t> dim_of(const Call& c) {
  FIEL_TRY(int64_t dim, normalize_dim(c.integer("dim"), c.shape(0).size()));
  return static_cast<size_t>(dim);
}

Status check_indices(const Value& index, int64_t extent, bool negative_too) {
  for (int64_t i = 0; i < index.count(); ++i) {
    int64_t v = index.integers()[i];
    if (v >= extent || v < (negative_too ? -extent : 0))
      return fail(ErrorCode::usage,
                  fmt::format("index {} at position {} is outside a dimension of {}", v, i, extent),
                  "an index input must stay below the extent that it indexes");
  }
  return {};
}

/// Element copy between values of one storage kind.
void copy_element(Value& to, int64_t at, const Value& from, int64_t i) {
  if (to.floating())
    to.reals()[at] = from.reals()[i];
  else
    to.integers()[at] = from.integers()[i];
}

/// Flat position in `into` of the element that flat position `i` of the index addresses along dim.
int64_t addressed(const Shape& index_shape, const Shape& into, const Shape& into_strides,
                  size_t dim, int64_t i, int64_t along) {
  int64_t at = 0;
  for (size_t d = index_shape.size(); d-- > 0;) {
    int64_t own = i % index_shape[d];
    i /= index_shape[d];
    at += (d == dim ? along : own) * into_strides[d];
  }
  return into.empty() ? 0 : at;
}

// --- gather, scatter

Status check_index_shape(const Call& c, size_t dim, bool against_input) {
  FIEL_TRY_STATUS(need_integer(c, 1));
  const Shape &x = c.shape(0), &index = c.shape(1);
  if (x.size() != index.size())
    return refuse(
        fmt::format("index must have rank {} as the input, not {}", x.size(), index.size()));
  for (size_t d = 0; d < x.size() && against_input; ++d)
    if (d != dim && index[d] > x[d])
      return refuse(fmt::format("index {} reaches beyond the input in dimension {}",
                                fiel::to_string(index), d));
  return {};
}

Result<Types> infer_gather(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  FIEL_TRY_STATUS(check_index_shape(c, dim, true));
  return one(c.type(0).dtype, c.shape(1));
}
Result<Values> evaluate_gather(const Evaluation& e) {
  const Value &x = *e.inputs[0], &index = *e.inputs[1];
  size_t dim = dim_of(e.call).value();
  FIEL_TRY_STATUS(check_indices(index, x.rank() ? x.size(dim) : 1, false));
  Value out = Value::make(e.call.results[0]);
  Shape strides = contiguous_strides(x.shape());
  parallel_for(out.count(), 1 << 13, e.threads, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      copy_element(out, i, x,
                   addressed(index.shape(), x.shape(), strides, dim, i, index.integers()[i]));
  });
  return Values{std::move(out)};
}

Result<Types> infer_scatter(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  FIEL_TRY_STATUS(check_index_shape(c, dim, true));
  const Shape &index = c.shape(1), &source = c.shape(2);
  bool number = c.inputs[2].weak;
  if (!number && c.type(2).dtype != c.type(0).dtype &&
      !(is_floating(c.type(2).dtype) && is_floating(c.type(0).dtype)))
    return refuse("src and input must have the same dtype");
  if (!number && source.size() != index.size()) return refuse("src must have the rank of index");
  for (size_t d = 0; d < index.size() && !number; ++d)
    if (index[d] > source[d])
      return refuse(fmt::format("index {} reaches beyond src {}", fiel::to_string(index),
                                fiel::to_string(source)));
  return one(c.type(0).dtype, c.shape(0));
}

enum class Scatter { replace, add, product, largest, smallest };

void combine(Value& out, int64_t at, const Value& source, int64_t i, Scatter how) {
  if (how == Scatter::replace) return copy_element(out, at, source, i);
  if (!out.floating()) {
    auto a = static_cast<uint64_t>(out.integers()[at]),
         b = static_cast<uint64_t>(source.integers()[i]);
    int64_t r = how == Scatter::add       ? static_cast<int64_t>(a + b)
                : how == Scatter::product ? static_cast<int64_t>(a * b)
                : how == Scatter::largest ? std::max(out.integers()[at], source.integers()[i])
                                          : std::min(out.integers()[at], source.integers()[i]);
    out.integers()[at] = wrap_integer(out.dtype(), r);
    return;
  }
  double a = out.reals()[at], b = source.reals()[i];
  bool nan = std::isnan(a) || std::isnan(b);
  out.reals()[at] = how == Scatter::add       ? a + b
                    : how == Scatter::product ? a * b
                    : nan                     ? NAN
                    : how == Scatter::largest ? std::max(a, b)
                                              : std::min(a, b);
}

Result<Values> scatter(const Evaluation& e, Scatter how) {
  const Value &x = *e.inputs[0], &index = *e.inputs[1];
  Value source = e.inputs[2]->cast(x.dtype());
  size_t dim = dim_of(e.call).value();
  FIEL_TRY_STATUS(check_indices(index, x.rank() ? x.size(dim) : 1, false));
  Value out = Value::make(e.call.results[0]);
  for (int64_t i = 0; i < x.count(); ++i) copy_element(out, i, x, i);
  Shape strides = contiguous_strides(x.shape()), own = contiguous_strides(source.shape());
  bool number = e.call.inputs[2].weak;
  // In the index's order on one thread: repeated targets then have one well-defined result.
  for (int64_t i = 0; i < index.count(); ++i) {
    int64_t at = addressed(index.shape(), x.shape(), strides, dim, i, index.integers()[i]);
    int64_t from = 0;
    if (!number) {
      int64_t rest = i;
      for (size_t d = index.rank(); d-- > 0; rest /= index.size(d))
        from += rest % index.size(d) * own[d];
    }
    combine(out, at, source, from, how);
  }
  return Values{std::move(out)};
}
template <Scatter How>
Result<Values> evaluate_scatter(const Evaluation& e) {
  return scatter(e, How);
}

Result<Types> infer_scatter_reduce(const Call& c) {
  std::string how = c.text("reduce");
  if (how != "sum" && how != "prod" && how != "amax" && how != "amin")
    return refuse(fmt::format("reduce must be sum, prod, amax or amin, not '{}'", how));
  return infer_scatter(c);
}
Result<Values> evaluate_scatter_reduce(const Evaluation& e) {
  std::string how = e.call.text("reduce");
  return scatter(e, how == "sum"    ? Scatter::add
                    : how == "prod" ? Scatter::product
                    : how == "amax" ? Scatter::largest
                                    : Scatter::smallest);
}

// --- whole slices

Result<Types> infer_index_select(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  FIEL_TRY_STATUS(need_integer(c, 1));
  FIEL_TRY_STATUS(need_rank(c, 1, 0, 1));
  Shape out = c.shape(0);
  if (!out.empty()) out[dim] = numel(c.shape(1));
  return one(c.type(0).dtype, std::move(out));
}

/// out[outer, j, inner] = x[outer, index[j], inner].
Value select_slices(const Evaluation& e, const Value& x, size_t dim, const Value& index) {
  Value out = Value::make(e.call.results[0]);
  Axis axis = axis_of(x.shape(), dim);
  int64_t picks = index.count();
  parallel_for(axis.outer * picks, std::max<int64_t>(1, 8192 / std::max<int64_t>(axis.inner, 1)),
               e.threads, [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   int64_t from =
                       (r / picks * axis.length + index.integers()[r % picks]) * axis.inner;
                   for (int64_t i = 0; i < axis.inner; ++i)
                     copy_element(out, r * axis.inner + i, x, from + i);
                 }
               });
  return out;
}
Result<Values> evaluate_index_select(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  size_t dim = dim_of(e.call).value();
  FIEL_TRY_STATUS(check_indices(*e.inputs[1], x.rank() ? x.size(dim) : 1, false));
  return Values{select_slices(e, x, dim, *e.inputs[1])};
}

Result<Types> infer_embedding(const Call& c) {
  FIEL_TRY_STATUS(need_integer(c, 0));
  FIEL_TRY_STATUS(need_rank(c, 1, 2, 2));
  Shape out = c.shape(0);
  out.push_back(c.shape(1)[1]);
  return one(c.type(1).dtype, std::move(out));
}
Result<Values> evaluate_embedding(const Evaluation& e) {
  FIEL_TRY_STATUS(check_indices(*e.inputs[0], e.inputs[1]->size(0), false));
  return Values{select_slices(e, *e.inputs[1], 0, *e.inputs[0])};
}

Result<Types> infer_take_along_dim(const Call& c) {
  FIEL_TRY_STATUS(need_integer(c, 1));
  FIEL_TRY(size_t dim, dim_of(c));
  if (c.shape(0).size() != c.shape(1).size()) return refuse("indices must have the input's rank");
  Shape x = c.shape(0), index = c.shape(1);
  int64_t picks = index.empty() ? 1 : index[dim];
  if (!x.empty()) x[dim] = index[dim] = 1;
  FIEL_TRY(Shape out, broadcast(x, index));
  if (!out.empty()) out[dim] = picks;
  return one(c.type(0).dtype, std::move(out));
}
Result<Values> evaluate_take_along_dim(const Evaluation& e) {
  const Value &x = *e.inputs[0], &index = *e.inputs[1];
  size_t dim = dim_of(e.call).value();
  int64_t extent = x.rank() ? x.size(dim) : 1;
  FIEL_TRY_STATUS(check_indices(index, extent, true));
  const Shape& shape = e.call.results[0].shape;
  Shape x_strides = contiguous_strides(x.shape()), i_strides = contiguous_strides(index.shape());
  Value out = Value::make(e.call.results[0]);
  for (int64_t i = 0; i < out.count(); ++i) {
    Shape at = unravel(i, shape);
    int64_t where = 0, from = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      where += (index.size(d) == 1 ? 0 : at[d]) * i_strides[d];
      if (d != dim) from += (x.size(d) == 1 ? 0 : at[d]) * x_strides[d];
    }
    int64_t along = index.integers()[where];
    if (x.rank()) from += (along < 0 ? along + extent : along) * x_strides[dim];
    copy_element(out, i, x, from);
  }
  return Values{std::move(out)};
}

Result<Types> infer_index_add(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  FIEL_TRY_STATUS(need_integer(c, 1));
  FIEL_TRY_STATUS(need_rank(c, 1, 1, 1));
  Shape wanted = c.shape(0);
  if (wanted.empty()) return refuse("input must have a dimension");
  wanted[dim] = c.shape(1)[0];
  if (c.shape(2) != wanted)
    return refuse(fmt::format("source must have shape {}", fiel::to_string(wanted)));
  if (is_floating(c.type(0).dtype) != is_floating(c.type(2).dtype))
    return refuse("source and input must have the same dtype");
  return one(c.type(0).dtype, c.shape(0));
}
Result<Values> evaluate_index_add(const Evaluation& e) {
  const Value &x = *e.inputs[0], &index = *e.inputs[1], &source = *e.inputs[2];
  size_t dim = dim_of(e.call).value();
  FIEL_TRY_STATUS(check_indices(index, x.size(dim), false));
  Value out = Value::make(e.call.results[0]);
  for (int64_t i = 0; i < x.count(); ++i) copy_element(out, i, x, i);
  Axis axis = axis_of(x.shape(), dim);
  double alpha = e.call.real("alpha");
  for (int64_t i = 0; i < source.count(); ++i) {
    int64_t inner = i % axis.inner, pick = i / axis.inner % index.count();
    int64_t outer = i / axis.inner / index.count();
    int64_t at = (outer * axis.length + index.integers()[pick]) * axis.inner + inner;
    if (out.floating())
      out.reals()[at] += alpha * source.reals()[i];
    else
      out.integers()[at] = wrap_integer(
          out.dtype(), out.integers()[at] + static_cast<int64_t>(alpha) * source.integers()[i]);
  }
  return Values{std::move(out)};
}

Result<Types> infer_one_hot(const Call& c) {
  FIEL_TRY_STATUS(need_integer(c, 0));
  int64_t classes = c.integer("num_classes");
  if (classes < 1) return refuse("num_classes must be given and at least 1");
  Shape out = c.shape(0);
  out.push_back(classes);
  return one(DType::i64, std::move(out));
}
Result<Values> evaluate_one_hot(const Evaluation& e) {
  const Value& index = *e.inputs[0];
  int64_t classes = e.call.integer("num_classes");
  FIEL_TRY_STATUS(check_indices(index, classes, false));
  Value out = Value::filled(e.call.results[0], 0);
  for (int64_t i = 0; i < index.count(); ++i) out.integers()[i * classes + index.integers()[i]] = 1;
  return Values{std::move(out)};
}

Work source_cost(const Call& c) {
  return {static_cast<double>(saturating_product(c.shape(1))),
          static_cast<double>(c.shape(1).empty() ? 1 : saturating_product(c.shape(1)))};
}

}  // namespace

std::vector<Operator> indexing_operators() {
  return {
      {"gather(input, dim: int, index)", "input[…, index[…], …] along dim", infer_gather,
       evaluate_gather, free_cost},
      {"take_along_dim(input, indices, dim: int)", "gather with broadcasting", infer_take_along_dim,
       evaluate_take_along_dim, free_cost},
      {"scatter(input, dim: int, index, src)",
       "input with src (or a number) written where index says; the last write to a place stays",
       infer_scatter, evaluate_scatter<Scatter::replace>, free_cost},
      {"scatter_add(input, dim: int, index, src)", "input with src added where index says",
       infer_scatter, evaluate_scatter<Scatter::add>, source_cost},
      {"scatter_reduce(input, dim: int, index, src, reduce: str)",
       "as scatter_add, with sum, prod, amax or amin", infer_scatter_reduce,
       evaluate_scatter_reduce, source_cost},
      {"index_select(input, dim: int, index)", "slices along dim, as listed", infer_index_select,
       evaluate_index_select, free_cost},
      {"index_add(input, dim: int, index, source, alpha: float = 1.0)",
       "input with alpha · source's slices added at the slices listed", infer_index_add,
       evaluate_index_add, source_cost},
      {"embedding(input, weight)", "rows of weight, as listed", infer_embedding, evaluate_embedding,
       free_cost},
      {"one_hot(input, num_classes: int)", "1 at the index, else 0 (i64)", infer_one_hot,
       evaluate_one_hot, free_cost},
  };
}

}  // namespace fiel::graph
