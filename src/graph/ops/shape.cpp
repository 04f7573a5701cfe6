// Operators that only look at elements in another shape or order.
#include <fmt/core.h>

#include <algorithm>

#include "graph/ops/arrangement.h"
#include "graph/ops/strided.h"
#include "graph/types.h"
#include "graph/value.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Result<Types> reshaped_to(const Call& c, Shape shape) {
  return one(c.type(0).dtype, std::move(shape));
}
Result<Values> evaluate_same_elements(const Evaluation& e) {
  return Values{e.inputs[0]->reshaped(e.call.results[0].shape)};
}

/// At most one -1, which takes what is left.
Result<Shape> fill_in(Shape shape, int64_t count) {
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && unknown < 0) {
      unknown = static_cast<int64_t>(i);
      continue;
    }
    if (shape[i] < 0) return refuse(fmt::format("{} is no shape", fiel::to_string(shape)));
    if (__builtin_mul_overflow(known, shape[i], &known))
      return refuse(fmt::format("{} is too large", fiel::to_string(shape)));
  }
  if (unknown >= 0 && (known == 0 || count % known))
    return refuse(fmt::format("{} elements do not fill {}", count, fiel::to_string(shape)));
  if (unknown >= 0)
    shape[static_cast<size_t>(unknown)] = count / known;
  else if (known != count)
    return refuse(fmt::format("{} elements do not fill {}", count, fiel::to_string(shape)));
  return shape;
}

Result<Types> infer_reshape(const Call& c) {
  FIEL_TRY(Shape shape, fill_in(c.integers("shape"), numel(c.shape(0))));
  return reshaped_to(c, std::move(shape));
}

Result<Types> infer_flatten(const Call& c) {
  const Shape& x = c.shape(0);
  if (x.empty()) return reshaped_to(c, {1});
  FIEL_TRY(int64_t first, normalize_dim(c.integer("start_dim"), x.size()));
  FIEL_TRY(int64_t last, normalize_dim(c.integer("end_dim"), x.size()));
  if (first > last) return refuse("start_dim comes after end_dim");
  Shape out(x.begin(), x.begin() + first);
  out.push_back(numel(Shape(x.begin() + first, x.begin() + last + 1)));
  out.insert(out.end(), x.begin() + last + 1, x.end());
  return reshaped_to(c, std::move(out));
}

Result<Types> infer_unflatten(const Call& c) {
  const Shape& x = c.shape(0);
  if (x.empty()) return refuse("input must have a dimension");
  FIEL_TRY(int64_t dim, normalize_dim(c.integer("dim"), x.size()));
  FIEL_TRY(Shape middle, fill_in(c.integers("sizes"), x[static_cast<size_t>(dim)]));
  Shape out(x.begin(), x.begin() + dim);
  out.insert(out.end(), middle.begin(), middle.end());
  out.insert(out.end(), x.begin() + dim + 1, x.end());
  return reshaped_to(c, std::move(out));
}

Result<Types> infer_squeeze(const Call& c) {
  const Shape& x = c.shape(0);
  FIEL_TRY(std::vector<int64_t> dims, normalize_dims(c.integers("dim"), x.size()));
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    bool named = std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) != dims.end();
    if (!named || x[i] != 1) out.push_back(x[i]);
  }
  return reshaped_to(c, std::move(out));
}

Result<Types> infer_unsqueeze(const Call& c) {
  Shape out = c.shape(0);
  FIEL_TRY(int64_t dim, normalize_dim(c.integer("dim"), out.size() + 1));
  out.insert(out.begin() + dim, 1);
  return reshaped_to(c, std::move(out));
}

// --- permutations

Result<std::vector<size_t>> order_of(const Call& c) {
  std::vector<int64_t> dims = c.integers("dims");
  size_t rank = c.shape(0).size();
  if (dims.size() != rank)
    return refuse(fmt::format("dims has {} entries for a tensor of rank {}", dims.size(), rank));
  FIEL_TRY_STATUS(normalize_dims(dims, rank).map([](const auto&) {}));
  std::vector<size_t> order;
  for (int64_t d : dims)
    order.push_back(static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d));
  return order;
}
Shape shape_in_order(const Shape& x, const std::vector<size_t>& order) {
  Shape out;
  for (size_t d : order) out.push_back(x[d]);
  return out;
}
Result<Types> infer_permute(const Call& c) {
  FIEL_TRY(auto order, order_of(c));
  return reshaped_to(c, shape_in_order(c.shape(0), order));
}
Result<Values> evaluate_permute(const Evaluation& e) {
  return Values{permuted(*e.inputs[0], order_of(e.call).value(), e.threads)};
}

Result<std::vector<size_t>> swap_of(const Call& c) {
  size_t rank = c.shape(0).size();
  FIEL_TRY(int64_t a, normalize_dim(c.integer("dim0"), rank));
  FIEL_TRY(int64_t b, normalize_dim(c.integer("dim1"), rank));
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  if (rank > 0) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return order;
}
Result<Types> infer_transpose(const Call& c) {
  FIEL_TRY(auto order, swap_of(c));
  return reshaped_to(c, shape_in_order(c.shape(0), order));
}
Result<Values> evaluate_transpose(const Evaluation& e) {
  return Values{permuted(*e.inputs[0], swap_of(e.call).value(), e.threads)};
}

Result<std::vector<size_t>> moved_order(const Call& c) {
  size_t rank = c.shape(0).size();
  std::vector<int64_t> from = c.integers("source"), to = c.integers("destination");
  if (from.size() != to.size()) return refuse("source and destination differ in length");
  FIEL_TRY_STATUS(normalize_dims(from, rank).map([](const auto&) {}));
  FIEL_TRY_STATUS(normalize_dims(to, rank).map([](const auto&) {}));
  constexpr size_t kFree = SIZE_MAX;
  std::vector<size_t> order(rank, kFree);
  std::vector<bool> used(rank);
  auto index = [&](int64_t d) {
    return static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d);
  };
  for (size_t i = 0; i < from.size() && rank > 0; ++i) {
    order[index(to[i])] = index(from[i]);
    used[index(from[i])] = true;
  }
  size_t next = 0;
  for (size_t& slot : order) {
    if (slot != kFree) continue;
    while (used[next]) ++next;
    slot = next++;
  }
  return order;
}
Result<Types> infer_movedim(const Call& c) {
  FIEL_TRY(auto order, moved_order(c));
  return reshaped_to(c, shape_in_order(c.shape(0), order));
}
Result<Values> evaluate_movedim(const Evaluation& e) {
  return Values{permuted(*e.inputs[0], moved_order(e.call).value(), e.threads)};
}

// --- expand

Result<Types> infer_expand(const Call& c) {
  Shape size = c.integers("size");
  const Shape& x = c.shape(0);
  if (size.size() < x.size())
    return refuse(
        fmt::format("size {} has fewer dimensions than the input", fiel::to_string(size)));
  for (size_t i = 0; i < size.size(); ++i) {
    bool fresh = i < size.size() - x.size();
    int64_t own = fresh ? 1 : x[i - (size.size() - x.size())];
    if (size[i] == -1 && !fresh) size[i] = own;
    if (size[i] < 0 || (own != 1 && own != size[i]))
      return refuse(fmt::format("cannot expand {} to {}", fiel::to_string(x),
                                fiel::to_string(c.integers("size"))));
  }
  return reshaped_to(c, std::move(size));
}
Result<Values> evaluate_expand(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  const Shape& out = e.call.results[0].shape;
  Shape own = contiguous_strides(x.shape()), strides(out.size(), 0);
  for (size_t i = 0; i < x.rank(); ++i)
    if (x.size(i) != 1) strides[out.size() - x.rank() + i] = own[i];
  return Values{strided_copy(x, out, strides, 0, e.threads)};
}

// --- diag, pixel_shuffle

Result<Types> infer_diag(const Call& c) {
  FIEL_TRY_STATUS(need_rank(c, 0, 1, 2));
  int64_t k = c.integer("diagonal");
  if (k > (int64_t{1} << 31) || k < -(int64_t{1} << 31)) return refuse("diagonal is out of range");
  const Shape& x = c.shape(0);
  if (x.size() == 1) return reshaped_to(c, {x[0] + std::abs(k), x[0] + std::abs(k)});
  int64_t rows = x[0] - std::max<int64_t>(0, -k), columns = x[1] - std::max<int64_t>(0, k);
  return reshaped_to(c, {std::max<int64_t>(0, std::min(rows, columns))});
}
Result<Values> evaluate_diag(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  int64_t k = e.call.integer("diagonal"), down = std::max<int64_t>(0, -k),
          right = std::max<int64_t>(0, k);
  if (x.rank() == 2)
    return Values{strided_copy(x, e.call.results[0].shape, {x.size(1) + 1},
                               down * x.size(1) + right, e.threads)};
  Value out = Value::filled(e.call.results[0], 0);
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t at = (i + down) * out.size(1) + i + right;
    if (x.floating())
      out.reals()[at] = x.reals()[i];
    else
      out.integers()[at] = x.integers()[i];
  }
  return Values{std::move(out)};
}

template <bool Up>
Result<Types> infer_pixels(const Call& c) {
  int64_t r = c.integer(Up ? "upscale_factor" : "downscale_factor");
  Shape x = c.shape(0);
  if (x.size() < 3) return refuse("input must have at least three dimensions");
  if (r < 1 || r > (1 << 15)) return refuse("the factor must be at least 1");
  int64_t &channels = x[x.size() - 3], &height = x[x.size() - 2], &width = x[x.size() - 1];
  // An empty plane lets the channels be as many as they like.
  if (!Up && channels > kMaxElements / (r * r))
    return fail(ErrorCode::limit, "the result is too large");
  if (Up ? channels % (r * r) != 0 : height % r != 0 || width % r != 0)
    return refuse(fmt::format("{} does not divide by {}", fiel::to_string(x), r));
  channels = Up ? channels / (r * r) : channels * r * r;
  height = Up ? height * r : height / r;
  width = Up ? width * r : width / r;
  return reshaped_to(c, std::move(x));
}
template <bool Up>
Result<Values> evaluate_pixels(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  int64_t r = e.call.integer(Up ? "upscale_factor" : "downscale_factor");
  size_t rank = x.rank();
  int64_t channels = x.size(rank - 3), height = x.size(rank - 2), width = x.size(rank - 1);
  int64_t plane = channels * height * width, outer = plane == 0 ? 0 : x.count() / plane;
  Value split = Up ? x.reshaped({outer, channels / (r * r), r, r, height, width})
                   : x.reshaped({outer, channels, height / r, r, width / r, r});
  std::vector<size_t> order =
      Up ? std::vector<size_t>{0, 1, 4, 2, 5, 3} : std::vector<size_t>{0, 1, 3, 5, 2, 4};
  return Values{permuted(split, order, e.threads).reshaped(e.call.results[0].shape)};
}

Operator row(const char* signature, const char* doc, Infer infer, Evaluate evaluate) {
  return {signature, doc, infer, evaluate, free_cost};
}

}  // namespace

std::vector<Operator> shape_operators() {
  std::vector<Operator> rows = {
      row("reshape(input, shape: int[])", "the same elements in another shape; -1 is worked out",
          infer_reshape, evaluate_same_elements),
      row("flatten(input, start_dim: int = 0, end_dim: int = -1)", "dimensions merged into one",
          infer_flatten, evaluate_same_elements),
      row("unflatten(input, dim: int, sizes: int[])", "one dimension split into several",
          infer_unflatten, evaluate_same_elements),
      row("squeeze(input, dim: int[] = [])", "dimensions of extent 1 dropped", infer_squeeze,
          evaluate_same_elements),
      row("unsqueeze(input, dim: int)", "a dimension of extent 1 inserted", infer_unsqueeze,
          evaluate_same_elements),
      row("permute(input, dims: int[])", "dimensions in another order", infer_permute,
          evaluate_permute),
      row("transpose(input, dim0: int, dim1: int)", "two dimensions exchanged", infer_transpose,
          evaluate_transpose),
      row("movedim(input, source: int[], destination: int[])", "dimensions moved", infer_movedim,
          evaluate_movedim),
      row("expand(input, size: int[])", "extents of 1 repeated; -1 keeps an extent", infer_expand,
          evaluate_expand),
      row("diag(input, diagonal: int = 0)", "diagonal of a matrix, or a matrix of a diagonal",
          infer_diag, evaluate_diag),
      row("pixel_shuffle(input, upscale_factor: int)", "(C·r², H, W) to (C, H·r, W·r)",
          infer_pixels<true>, evaluate_pixels<true>),
      row("pixel_unshuffle(input, downscale_factor: int)", "(C, H·r, W·r) to (C·r², H, W)",
          infer_pixels<false>, evaluate_pixels<false>),
  };
  for (Operator& op : arrangement_operators()) rows.push_back(std::move(op));
  return rows;
}

}  // namespace fiel::graph
