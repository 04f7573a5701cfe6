#include "graph/ops/arrangement.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "graph/ops/elementwise.h"
#include "graph/ops/gather_dims.h"
#include "graph/ops/strided.h"
#include "graph/types.h"
#include "graph/value.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

Result<size_t> dim_of(const Call& c, const char* name = "dim") {
  if (c.shape(0).empty()) return refuse("input must have a dimension");
  FIEL_TRY(int64_t dim, normalize_dim(c.integer(name), c.shape(0).size()));
  return static_cast<size_t>(dim);
}

// --- joining

/// PyTorch's relic: tensors of shape (0) are ignored by cat.
bool ignored(const Shape& s) { return s.size() == 1 && s[0] == 0; }

Result<Types> infer_cat(const Call& c) {
  size_t first = 0;
  while (first + 1 < c.inputs.size() && ignored(c.shape(first))) ++first;
  Shape out = c.shape(first);
  if (out.empty()) return refuse("tensors of rank 0 cannot be joined", "use stack");
  FIEL_TRY(int64_t d, normalize_dim(c.integer("dim"), out.size()));
  auto dim = static_cast<size_t>(d);
  for (size_t slot = first + 1; slot < c.inputs.size(); ++slot) {
    if (ignored(c.shape(slot))) continue;
    Shape rest = c.shape(slot);
    int64_t own = rest.size() == out.size() ? std::exchange(rest[dim], out[dim]) : 0;
    if (rest != out)
      return refuse(fmt::format("{} {} does not fit the others but in dimension {}",
                                argument_name(c, slot), fiel::to_string(c.shape(slot)), dim));
    out[dim] += own;
    if (out[dim] > kMaxElements) return fail(ErrorCode::limit, "the result is too large");
  }
  return one(promote_all(c), std::move(out));
}
Result<Values> evaluate_cat(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  Value out = Value::make(type);
  auto dim = static_cast<size_t>(normalize_dim(e.call.integer("dim"), type.shape.size()).value());
  int64_t at = 0;
  for (const Value* part : e.inputs) {
    if (ignored(part->shape()) && !(type.shape.size() == 1)) continue;
    copy_into(out, part->cast(type.dtype), dim, at);
    at += part->size(dim);
  }
  return Values{std::move(out)};
}

Result<Types> infer_stack(const Call& c) {
  Shape out = c.shape(0);
  for (size_t slot = 1; slot < c.inputs.size(); ++slot)
    if (c.shape(slot) != out)
      return refuse(fmt::format("{} has shape {}, the first {}", argument_name(c, slot),
                                fiel::to_string(c.shape(slot)), fiel::to_string(out)));
  FIEL_TRY(int64_t dim, normalize_dim(c.integer("dim"), out.size() + 1));
  out.insert(out.begin() + dim, static_cast<int64_t>(c.inputs.size()));
  return one(promote_all(c), std::move(out));
}
Result<Values> evaluate_stack(const Evaluation& e) {
  const TensorType& type = e.call.results[0];
  Value out = Value::make(type);
  auto dim = static_cast<size_t>(normalize_dim(e.call.integer("dim"), type.shape.size()).value());
  Shape slice = type.shape;
  slice[dim] = 1;
  for (size_t i = 0; i < e.inputs.size(); ++i)
    copy_into(out, e.inputs[i]->cast(type.dtype).reshaped(slice), dim, static_cast<int64_t>(i));
  return Values{std::move(out)};
}

// --- cutting

Value cut(const Evaluation& e, const Value& x, size_t dim, int64_t start, int64_t count,
          int64_t step) {
  IndexTables tables(x.rank());
  tables[dim].emplace(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) (*tables[dim])[static_cast<size_t>(i)] = start + i * step;
  return gather_dims(x, tables, 0, e.threads);
}

Result<Types> pieces(const Call& c, size_t dim, const std::vector<int64_t>& lengths) {
  if (lengths.size() > 64)
    return refuse(fmt::format("makes {} pieces; the most is 64", lengths.size()));
  Types out;
  for (int64_t length : lengths) {
    Shape shape = c.shape(0);
    shape[dim] = length;
    out.push_back({c.type(0).dtype, std::move(shape)});
  }
  return out;
}
Result<Types> even_pieces(const Call& c, size_t dim, int64_t length) {
  int64_t rest = c.shape(0)[dim];
  if (rest / std::max<int64_t>(length, 1) > 64) return refuse("makes more than 64 pieces");
  std::vector<int64_t> lengths;
  do {
    lengths.push_back(std::min(length, rest));
    rest -= length;
  } while (rest > 0);
  return pieces(c, dim, lengths);
}

Result<Types> infer_split(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  std::vector<int64_t> sizes = c.integers("split_size_or_sections");
  int64_t extent = c.shape(0)[dim];
  if (sizes.size() == 1) {
    if (sizes[0] < 1) return refuse("the size of a piece must be at least 1");
    return even_pieces(c, dim, sizes[0]);
  }
  int64_t total = 0;
  for (int64_t s : sizes)
    if (s < 0 || __builtin_add_overflow(total, s, &total))
      return refuse("a section is out of range");
  if (total != extent)
    return refuse(fmt::format("sections add up to {}, the dimension has {}", total, extent));
  return pieces(c, dim, sizes);
}
Result<Types> infer_chunk(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  int64_t chunks = c.integer("chunks"), extent = c.shape(0)[dim];
  if (chunks < 1 || chunks > 64) return refuse("chunks must be in 1 … 64");
  if (extent == 0) return pieces(c, dim, std::vector<int64_t>(static_cast<size_t>(chunks), 0));
  return even_pieces(c, dim, (extent + chunks - 1) / chunks);
}
Result<Values> evaluate_pieces(const Evaluation& e) {
  size_t dim = dim_of(e.call).value();
  Values out;
  int64_t at = 0;
  for (const TensorType& t : e.call.results) {
    out.push_back(cut(e, *e.inputs[0], dim, at, t.shape[dim], 1));
    at += t.shape[dim];
  }
  return out;
}
Result<Types> infer_unbind(const Call& c) {
  FIEL_TRY(size_t dim, dim_of(c));
  int64_t n = c.shape(0)[dim];
  if (n > 64) return refuse("makes more than 64 pieces");
  Shape shape = c.shape(0);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return Types(static_cast<size_t>(n), TensorType{c.type(0).dtype, shape});
}
Result<Values> evaluate_unbind(const Evaluation& e) {
  size_t dim = dim_of(e.call).value();
  Values out;
  for (size_t i = 0; i < e.call.results.size(); ++i)
    out.push_back(
        cut(e, *e.inputs[0], dim, static_cast<int64_t>(i), 1, 1).reshaped(e.call.results[i].shape));
  return out;
}

struct Range {
  size_t dim = 0;
  int64_t start = 0, count = 0, step = 1;
};
Result<Range> slice_range(const Call& c) {
  Range r;
  FIEL_TRY(r.dim, dim_of(c));
  int64_t extent = c.shape(0)[r.dim], end = c.has("end") ? c.integer("end") : extent;
  auto limit = [extent](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + extent : i, 0, extent);
  };
  r.start = limit(c.integer("start"));
  r.step = c.integer("step");
  if (r.step < 1) return refuse("step must be at least 1");
  r.count = std::max<int64_t>(0, limit(end) - r.start);
  r.count = r.count == 0 ? 0 : (r.count - 1) / r.step + 1;
  return r;
}
Result<Range> narrow_range(const Call& c) {
  Range r;
  FIEL_TRY(r.dim, dim_of(c));
  int64_t extent = c.shape(0)[r.dim];
  r.start = c.integer("start");
  r.count = c.integer("length");
  if (r.start < 0) r.start += extent;
  if (r.start < 0 || r.start > extent || r.count < 0 || r.count > extent - r.start)
    return refuse(fmt::format("start {} and length {} leave the dimension of {}",
                              c.integer("start"), r.count, extent));
  return r;
}
Result<Range> select_range(const Call& c) {
  Range r;
  FIEL_TRY(r.dim, dim_of(c));
  int64_t extent = c.shape(0)[r.dim], index = c.integer("index");
  if (index < -extent || index >= extent)
    return refuse(fmt::format("index {} is outside the dimension of {}", index, extent));
  r.start = index < 0 ? index + extent : index;
  r.count = 1;
  return r;
}
template <Result<Range> (*RangeOf)(const Call&), bool Drop>
Result<Types> infer_range(const Call& c) {
  FIEL_TRY(Range r, RangeOf(c));
  Shape out = c.shape(0);
  out[r.dim] = r.count;
  if (Drop) out.erase(out.begin() + static_cast<std::ptrdiff_t>(r.dim));
  return one(c.type(0).dtype, std::move(out));
}
template <Result<Range> (*RangeOf)(const Call&)>
Result<Values> evaluate_range(const Evaluation& e) {
  Range r = RangeOf(e.call).value();
  return Values{
      cut(e, *e.inputs[0], r.dim, r.start, r.count, r.step).reshaped(e.call.results[0].shape)};
}

// --- padding

Status check_pad_mode(const std::string& mode) {
  if (mode == "constant" || mode == "reflect" || mode == "replicate" || mode == "circular")
    return {};
  return refuse(
      fmt::format("mode must be constant, reflect, replicate or circular, not '{}'", mode));
}

Result<Types> infer_pad(const Call& c) {
  std::vector<int64_t> pad = c.integers("pad");
  std::string mode = c.text("mode");
  FIEL_TRY_STATUS(check_pad_mode(mode));
  Shape out = c.shape(0);
  if (pad.size() % 2 || pad.size() / 2 > out.size())
    return refuse(
        fmt::format("pad has {} values; two a dimension are wanted, last dimension first, "
                    "for at most {} dimensions",
                    pad.size(), out.size()));
  for (size_t i = 0; i < pad.size(); i += 2) {
    size_t d = out.size() - 1 - i / 2;
    int64_t extent = out[d];
    for (int64_t p : {pad[i], pad[i + 1]}) {
      if (p > kMaxElements || p < -kMaxElements) return refuse("pad is out of range");
      if (mode != "constant" && p < 0) return refuse("negative padding needs mode \"constant\"");
      if (mode == "reflect" && p >= extent && p > 0)
        return refuse(fmt::format("reflection by {} needs more than {} elements", p, extent));
      if (mode == "circular" && p > extent)
        return refuse(fmt::format("wrapping by {} needs {} elements", p, p));
      if (mode == "replicate" && extent == 0) return refuse("nothing to replicate");
    }
    out[d] = extent + pad[i] + pad[i + 1];
    if (out[d] < 0) return refuse(fmt::format("dimension {} would have extent {}", d, out[d]));
  }
  return one(c.type(0).dtype, std::move(out));
}

int64_t padded_index(const std::string& mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (mode == "reflect") return i < 0 ? -i : 2 * (extent - 1) - i;
  if (mode == "replicate") return std::clamp<int64_t>(i, 0, extent - 1);
  if (mode == "circular") return i < 0 ? i + extent : i - extent;
  return -1;
}

Result<Values> evaluate_pad(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  std::vector<int64_t> pad = e.call.integers("pad");
  std::string mode = e.call.text("mode");
  IndexTables tables(x.rank());
  for (size_t i = 0; i < pad.size(); i += 2) {
    size_t d = x.rank() - 1 - i / 2;
    auto& table = tables[d].emplace(static_cast<size_t>(e.call.results[0].shape[d]));
    for (size_t j = 0; j < table.size(); ++j)
      table[j] = padded_index(mode, static_cast<int64_t>(j) - pad[i], x.size(d));
  }
  return Values{gather_dims(x, tables, e.call.real("value"), e.threads)};
}

// --- repeating, turning

Result<Types> infer_repeat(const Call& c) {
  std::vector<int64_t> repeats = c.integers("repeats");
  const Shape& x = c.shape(0);
  if (repeats.size() < x.size())
    return refuse(fmt::format("repeats has {} values for rank {}", repeats.size(), x.size()));
  Shape out = repeats;
  for (size_t i = 0; i < out.size(); ++i) {
    size_t lead = out.size() - x.size();
    if (out[i] < 0) return refuse("repeats must not be negative");
    if (i >= lead && __builtin_mul_overflow(out[i], x[i - lead], &out[i]))
      return fail(ErrorCode::limit, "the result is too large");
  }
  return one(c.type(0).dtype, std::move(out));
}
Result<Values> evaluate_repeat(const Evaluation& e) {
  const Shape& out = e.call.results[0].shape;
  Shape padded(out.size() - e.inputs[0]->rank(), 1);
  padded.insert(padded.end(), e.inputs[0]->shape().begin(), e.inputs[0]->shape().end());
  Value x = e.inputs[0]->reshaped(padded);
  IndexTables tables(out.size());
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] == padded[d]) continue;
    auto& table = tables[d].emplace(static_cast<size_t>(out[d]));
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int64_t>(i) % padded[d];
  }
  return Values{gather_dims(x, tables, 0, e.threads)};
}

Result<Types> infer_repeat_interleave(const Call& c) {
  int64_t repeats = c.integer("repeats");
  if (repeats < 0 || repeats > kMaxElements) return refuse("repeats is out of range");
  Shape out = c.shape(0);
  size_t dim = 0;
  if (c.has("dim")) {
    FIEL_TRY(dim, dim_of(c));
  } else {
    out = {numel(out)};
  }
  if (__builtin_mul_overflow(out[dim], repeats, &out[dim]))
    return fail(ErrorCode::limit, "the result is too large");
  return one(c.type(0).dtype, std::move(out));
}
Result<Values> evaluate_repeat_interleave(const Evaluation& e) {
  Value x = *e.inputs[0];
  size_t dim = e.call.has("dim") ? dim_of(e.call).value() : 0;
  if (!e.call.has("dim")) x = x.reshaped({x.count()});
  IndexTables tables(x.rank());
  auto& table = tables[dim].emplace(static_cast<size_t>(e.call.results[0].shape[dim]));
  int64_t repeats = e.call.integer("repeats");
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int64_t>(i) / repeats;
  return Values{gather_dims(x, tables, 0, e.threads)};
}

Result<Types> infer_flip(const Call& c) {
  FIEL_TRY_STATUS(normalize_dims(c.integers("dims"), c.shape(0).size()).map([](const auto&) {}));
  return one(c.type(0).dtype, c.shape(0));
}
Result<Values> evaluate_flip(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  IndexTables tables(x.rank());
  std::vector<int64_t> dims = e.call.integers("dims");
  if (!dims.empty()) {
    dims = normalize_dims(dims, x.rank()).value();
    for (int64_t d : dims) {
      auto& table = tables[static_cast<size_t>(d)].emplace(
          static_cast<size_t>(x.size(static_cast<size_t>(d))));
      for (size_t i = 0; i < table.size(); ++i)
        table[i] = static_cast<int64_t>(table.size() - 1 - i);
    }
  }
  return Values{gather_dims(x, tables, 0, e.threads)};
}

Result<Types> infer_roll(const Call& c) {
  std::vector<int64_t> shifts = c.integers("shifts"), dims = c.integers("dims");
  if (c.has("dims") && !dims.empty() && shifts.size() != dims.size())
    return refuse("shifts and dims differ in length");
  if (dims.empty() && shifts.size() != 1) return refuse("without dims, one shift is wanted");
  for (int64_t d : dims) FIEL_TRY_STATUS(normalize_dim(d, c.shape(0).size()).map([](int64_t) {}));
  return one(c.type(0).dtype, c.shape(0));
}
Result<Values> evaluate_roll(const Evaluation& e) {
  std::vector<int64_t> shifts = e.call.integers("shifts"), dims = e.call.integers("dims");
  Value x = *e.inputs[0];
  if (x.count() == 0) return Values{std::move(x)};
  if (dims.empty()) {
    x = x.reshaped({x.count()});
    dims = {0};
  }
  for (size_t n = 0; n < dims.size() && x.rank() > 0; ++n) {
    auto d = static_cast<size_t>(normalize_dim(dims[n], x.rank()).value());
    int64_t extent = x.size(d), shift = shifts[n] % extent;
    IndexTables tables(x.rank());
    auto& table = tables[d].emplace(static_cast<size_t>(extent));
    for (int64_t i = 0; i < extent; ++i)
      table[static_cast<size_t>(i)] = ((i - shift) % extent + extent) % extent;
    x = gather_dims(x, tables, 0, e.threads);
  }
  return Values{x.reshaped(e.call.results[0].shape)};
}

template <bool Lower>
Result<Values> evaluate_triangle(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  Value out = Value::make(e.call.results[0]);
  int64_t rows = x.size(x.rank() - 2), columns = x.size(x.rank() - 1);
  int64_t k = std::clamp<int64_t>(e.call.integer("diagonal"), -kMaxElements, kMaxElements);
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t column = i % columns, row = i / columns % rows;
    bool keep = Lower ? column - row <= k : column - row >= k;
    if (x.floating())
      out.reals()[i] = keep ? x.reals()[i] : 0;
    else
      out.integers()[i] = keep ? x.integers()[i] : 0;
  }
  return Values{std::move(out)};
}
Result<Types> infer_triangle(const Call& c) {
  if (c.shape(0).size() < 2) return refuse("input must have at least two dimensions");
  return one(c.type(0).dtype, c.shape(0));
}

// --- making

Result<Types> infer_like(const Call& c) {
  FIEL_TRY(DType t, dtype_attribute(c, "dtype", c.type(0).dtype));
  return one(t, c.shape(0));
}
template <int Value_>
Result<Values> evaluate_constant(const Evaluation& e) {
  return Values{Value::filled(e.call.results[0], Value_)};
}
Result<Values> evaluate_full(const Evaluation& e) {
  return Values{Value::filled(e.call.results[0], e.call.real("fill_value"))};
}
Result<Types> infer_full(const Call& c) {
  FIEL_TRY(DType t, dtype_attribute(c, "dtype", DType::f32));
  return one(t, c.integers("size"));
}
Result<Types> infer_arange(const Call& c) {
  FIEL_TRY(DType t, dtype_attribute(c, "dtype", DType::i64));
  int64_t start = c.integer("start"), step = c.integer("step"), end = c.integer("end"), span = 0;
  if (step == 0) return refuse("step must not be 0");
  if (step == INT64_MIN || __builtin_sub_overflow(end, start, &span) || span == INT64_MIN)
    return refuse("the range is too large");
  int64_t forward = step > 0 ? span : -span, magnitude = std::abs(step);
  if (forward < 0) return refuse("the range goes the other way than step");
  return one(t, {forward == 0 ? 0 : (forward - 1) / magnitude + 1});
}
Result<Values> evaluate_arange(const Evaluation& e) {
  Value out = Value::make(e.call.results[0]);
  int64_t start = e.call.integer("start"), step = e.call.integer("step");
  for (int64_t i = 0; i < out.count(); ++i) {
    if (out.floating())
      out.reals()[i] = static_cast<double>(start + i * step);
    else
      out.integers()[i] = wrap_integer(out.dtype(), start + i * step);
  }
  return Values{std::move(out)};
}

Operator row(const char* signature, const char* doc, Infer infer, Evaluate evaluate,
             uint8_t results = 1) {
  return {signature, doc, infer, evaluate, free_cost, results};
}

std::vector<Operator> joining_and_cutting() {
  return {
      row("cat(tensors*, dim: int = 0)", "joined along a dimension", infer_cat, evaluate_cat),
      row("stack(tensors*, dim: int = 0)", "joined along a new dimension", infer_stack,
          evaluate_stack),
      row("split(input, split_size_or_sections: int[], dim: int = 0)",
          "pieces of one size (the last may be shorter), or of the sizes listed", infer_split,
          evaluate_pieces, 0),
      row("chunk(input, chunks: int, dim: int = 0)", "at most that many pieces of equal size",
          infer_chunk, evaluate_pieces, 0),
      row("unbind(input, dim: int = 0)", "the slices along a dimension", infer_unbind,
          evaluate_unbind, 0),
      row("slice(input, dim: int = 0, start: int = 0, end: int = None, step: int = 1)",
          "input[start:end:step] along dim (torch.ops.aten.slice)", infer_range<slice_range, false>,
          evaluate_range<slice_range>),
      row("select(input, dim: int, index: int)", "one slice, its dimension dropped",
          infer_range<select_range, true>, evaluate_range<select_range>),
      row("narrow(input, dim: int, start: int, length: int)", "length slices from start",
          infer_range<narrow_range, false>, evaluate_range<narrow_range>),
  };
}

std::vector<Operator> padding_and_making() {
  return {
      row("pad(input, pad: int[], mode: str = \"constant\", value: float = 0.0)",
          "padded, last dimension first; mode constant, reflect, replicate or circular", infer_pad,
          evaluate_pad),
      row("repeat(input, repeats: int[])", "copies side by side (Tensor.repeat)", infer_repeat,
          evaluate_repeat),
      row("repeat_interleave(input, repeats: int, dim: int = None)", "each slice several times",
          infer_repeat_interleave, evaluate_repeat_interleave),
      row("flip(input, dims: int[])", "order reversed along dims", infer_flip, evaluate_flip),
      row("roll(input, shifts: int[], dims: int[] = [])", "shifted around", infer_roll,
          evaluate_roll),
      row("tril(input, diagonal: int = 0)", "lower triangle, else 0", infer_triangle,
          evaluate_triangle<true>),
      row("triu(input, diagonal: int = 0)", "upper triangle, else 0", infer_triangle,
          evaluate_triangle<false>),
      row("zeros_like(input, dtype: str = None)", "zeros in the input's shape", infer_like,
          evaluate_constant<0>),
      row("ones_like(input, dtype: str = None)", "ones in the input's shape", infer_like,
          evaluate_constant<1>),
      row("full_like(input, fill_value: float, dtype: str = None)",
          "one value in the input's shape", infer_like, evaluate_full),
      row("full(size: int[], fill_value: float, dtype: str = None)", "one value in a shape (f32)",
          infer_full, evaluate_full),
      row("arange(start: int, end: int, step: int = 1, dtype: str = None)",
          "start, start + step … before end (i64)", infer_arange, evaluate_arange),
  };
}

}  // namespace

std::vector<Operator> arrangement_operators() {
  std::vector<Operator> rows = joining_and_cutting();
  for (Operator& op : padding_and_making()) rows.push_back(std::move(op));
  return rows;
}

}  // namespace fiel::graph
