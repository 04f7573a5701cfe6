// Scaled dot-product attention and rotary embedding.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "graph/gemm.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/strided.h"
#include "graph/sum.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

struct Plan {
  Shape batch;  ///< everything before (L, E), heads included
  int64_t queries = 0, keys = 0, width = 0, value_width = 0;
  int64_t share = 1;  ///< query heads for one key head (grouped-query attention)
  double scale = 1;
};

Shape leading(const Shape& s) { return Shape(s.begin(), s.end() - 2); }

Result<Shape> attention_batch(const Call& c, Plan& p) {
  Shape q = leading(c.shape(0)), k = leading(c.shape(1)), v = leading(c.shape(2));
  if (c.flag("enable_gqa")) {
    if (q.empty() || k.empty() || v.empty()) return refuse("enable_gqa needs a dimension of heads");
    if (k.back() != v.back() || k.back() < 1 || q.back() % k.back())
      return refuse(fmt::format("{} query heads do not share {} key and {} value heads", q.back(),
                                k.back(), v.back()));
    p.share = q.back() / k.back();
    k.back() = v.back() = q.back();
  }
  FIEL_TRY(Shape batch, broadcast(q, k));
  return broadcast(batch, v);
}

Result<Plan> plan_attention(const Call& c) {
  for (size_t slot : {0u, 1u, 2u}) {
    FIEL_TRY_STATUS(need_floating(c, slot));
    if (c.shape(slot).size() < 2)
      return refuse(fmt::format("{} must have at least two dimensions", argument_name(c, slot)));
  }
  Plan p;
  auto last = [&](size_t slot, size_t back) { return c.shape(slot)[c.shape(slot).size() - back]; };
  p.queries = last(0, 2);
  p.width = last(0, 1);
  p.keys = last(1, 2);
  p.value_width = last(2, 1);
  if (last(1, 1) != p.width)
    return refuse(fmt::format("query has width {}, key {}", p.width, last(1, 1)));
  if (last(2, 2) != p.keys) return refuse(fmt::format("{} keys for {} values", p.keys, last(2, 2)));
  FIEL_TRY(p.batch, attention_batch(c, p));
  p.scale = c.has("scale") ? c.real("scale") : 1 / std::sqrt(static_cast<double>(p.width));
  if (c.real("dropout_p") != 0)
    return refuse("dropout is random; only dropout_p=0 has a reference");
  if (!c.given(3)) return p;
  if (c.flag("is_causal")) return refuse("attn_mask and is_causal exclude each other");
  if (c.type(3).dtype != DType::boolean) FIEL_TRY_STATUS(need_floating(c, 3));
  Shape scores = p.batch;
  scores.insert(scores.end(), {p.queries, p.keys});
  FIEL_TRY(Shape with_mask, broadcast(scores, c.shape(3)));
  if (with_mask != scores)
    return refuse(fmt::format("attn_mask {} does not fit the scores {}",
                              fiel::to_string(c.shape(3)), fiel::to_string(scores)));
  return p;
}

Result<Types> infer_attention(const Call& c) {
  FIEL_TRY(Plan p, plan_attention(c));
  Shape out = p.batch;
  out.insert(out.end(), {p.queries, p.value_width});
  return one(promote_slots(c, {0, 1, 2}), std::move(out));
}

/// Element offset of a batch entry's matrix, the last batch dimension shared by `share` entries.
int64_t batch_offset(const Shape& own, const Shape& batch, int64_t entry, int64_t share,
                     int64_t matrix) {
  Shape shape = own;
  if (share > 1) shape.back() *= share;
  Shape strides(batch.size(), 0);
  int64_t step = matrix;
  for (size_t i = own.size(); i-- > 0;) {
    strides[i + batch.size() - own.size()] = own[i] == 1 && shape[i] == 1 ? 0 : step;
    step *= own[i];
  }
  int64_t at = 0;
  for (size_t d = batch.size(); d-- > 0;) {
    int64_t index = entry % batch[d];
    entry /= batch[d];
    at += (d + 1 == batch.size() ? index / share : index) * strides[d];
  }
  return at;
}

/// Softmax of one row of scores; a row that is masked altogether gives zeros, as PyTorch's
/// _safe_softmax does.
void softmax_scores(double* x, int64_t n) {
  double m = -INFINITY;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) m = x[i];
    if (x[i] > m) m = x[i];
  }
  if (m == -INFINITY) {
    std::fill_n(x, n, 0.0);
    return;
  }
  for (int64_t i = 0; i < n; ++i) x[i] = std::exp(x[i] - m);
  double total = sum(x, n);
  for (int64_t i = 0; i < n; ++i) x[i] /= total;
}

struct Mask {
  const Value* value = nullptr;
  Shape strides;  ///< against batch + (L, S)

  void apply(double* row, int64_t entry, int64_t query, const Plan& p) const {
    if (!value) return;
    int64_t at = query * strides[p.batch.size()], step = strides[p.batch.size() + 1];
    for (size_t d = p.batch.size(); d-- > 0;) {
      at += entry % p.batch[d] * strides[d];
      entry /= p.batch[d];
    }
    for (int64_t k = 0; k < p.keys; ++k) {
      if (value->floating())
        row[k] += value->reals()[at + k * step];
      else if (!value->integers()[at + k * step])
        row[k] = -INFINITY;
    }
  }
};

Result<Values> evaluate_attention(const Evaluation& e) {
  FIEL_TRY(Plan p, plan_attention(e.call));
  const Value &q = *e.inputs[0], &k = *e.inputs[1], &v = *e.inputs[2];
  Value out = Value::make(e.call.results[0]);
  Mask mask;
  if (e.call.given(3)) {
    Shape scores = p.batch;
    scores.insert(scores.end(), {p.queries, p.keys});
    mask = {e.inputs[3], broadcast_strides(e.inputs[3]->shape(), scores)};
  }
  bool causal = e.call.flag("is_causal");
  constexpr int64_t kBlock = 64;
  int64_t blocks = (p.queries + kBlock - 1) / kBlock;
  // Rows of scores never leave their block: memory stays at 64 rows a thread.
  parallel_for(numel(p.batch) * blocks, 1, e.threads, [&](int64_t from, int64_t to) {
    std::vector<double> scores(static_cast<size_t>(kBlock * p.keys));
    for (int64_t job = from; job < to; ++job) {
      int64_t entry = job / blocks, first = job % blocks * kBlock;
      int64_t rows = std::min(kBlock, p.queries - first);
      const double* query =
          q.reals() + batch_offset(leading(q.shape()), p.batch, entry, 1, p.queries * p.width);
      const double* key =
          k.reals() + batch_offset(leading(k.shape()), p.batch, entry, p.share, p.keys * p.width);
      const double* value = v.reals() + batch_offset(leading(v.shape()), p.batch, entry, p.share,
                                                     p.keys * p.value_width);
      gemm({query + first * p.width, p.width, 1}, {key, 1, p.width}, scores.data(), p.keys, rows,
           p.keys, p.width, 1);
      for (int64_t r = 0; r < rows; ++r) {
        double* row = scores.data() + r * p.keys;
        for (int64_t i = 0; i < p.keys; ++i) row[i] *= p.scale;
        for (int64_t i = first + r + 1; causal && i < p.keys; ++i) row[i] = -INFINITY;
        mask.apply(row, entry, first + r, p);
        softmax_scores(row, p.keys);
      }
      gemm({scores.data(), p.keys, 1}, {value, p.value_width, 1},
           out.reals() + (entry * p.queries + first) * p.value_width, p.value_width, rows,
           p.value_width, p.keys, 1);
    }
  });
  return Values{std::move(out)};
}

Work attention_cost(const Call& c) {
  auto p = plan_attention(c);
  double pairs = static_cast<double>(saturating_product(p->batch)) *
                 static_cast<double>(p->queries) * static_cast<double>(p->keys);
  if (c.flag("is_causal")) pairs /= 2;
  double width = static_cast<double>(p->width + p->value_width);
  return {pairs * (2 * width + 5),
          static_cast<double>(p->width) + 2 * static_cast<double>(p->keys)};
}

// --- rotary embedding

Result<Types> infer_rotary(const Call& c) {
  for (size_t slot : {0u, 1u, 2u}) FIEL_TRY_STATUS(need_floating(c, slot));
  const Shape& x = c.shape(0);
  if (x.empty() || x.back() % 2) return refuse("the last dimension must be even");
  if (c.shape(1) != c.shape(2)) return refuse("cos and sin differ in shape");
  Shape wanted = x, angles = c.shape(1);
  if (!angles.empty() && angles.back() == x.back() / 2) wanted.back() /= 2;
  FIEL_TRY(Shape together, broadcast(wanted, angles));
  if (together != wanted || angles.empty() || angles.back() != wanted.back())
    return refuse(fmt::format("cos {} must broadcast to {}, its last extent {} or {}",
                              fiel::to_string(angles), fiel::to_string(x), x.back(), x.back() / 2));
  return one(c.type(0).dtype, x);
}
Result<Values> evaluate_rotary(const Evaluation& e) {
  const Value &x = *e.inputs[0], &cosine = *e.inputs[1], &sine = *e.inputs[2];
  bool interleaved = e.call.flag("interleaved");
  int64_t n = x.shape().back(), half = n / 2, angles = cosine.shape().back();
  Shape wanted = x.shape();
  wanted.back() = angles;
  Shape strides = broadcast_strides(cosine.shape(), wanted);
  Shape rows(x.shape().begin(), x.shape().end() - 1);
  Value out = Value::make(e.call.results[0]);
  int64_t count = n == 0 ? 0 : x.count() / n;
  parallel_for(count, std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)), e.threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t r = from; r < to; ++r) {
                   int64_t base = 0, rest = r;
                   for (size_t d = rows.size(); d-- > 0; rest /= rows[d])
                     base += rest % rows[d] * strides[d];
                   for (int64_t i = 0; i < n; ++i) {
                     int64_t pair = interleaved ? i / 2 : i % half;
                     bool second = interleaved ? i % 2 == 1 : i >= half;
                     int64_t partner =
                         interleaved ? (second ? i - 1 : i + 1) : (second ? i - half : i + half);
                     int64_t angle = base + (angles == n ? i : pair);
                     double rotated =
                         second ? x.reals()[r * n + partner] : -x.reals()[r * n + partner];
                     out.reals()[r * n + i] = x.reals()[r * n + i] * cosine.reals()[angle] +
                                              rotated * sine.reals()[angle];
                   }
                 }
               });
  return Values{std::move(out)};
}
Work rotary_cost(const Call& c) {
  return {3 * static_cast<double>(saturating_product(c.shape(0))), 1};
}

}  // namespace

std::vector<Operator> attention_operators() {
  return {
      {"scaled_dot_product_attention(query, key, value, attn_mask?, dropout_p: float = 0.0, "
       "is_causal: bool = False, scale: float = None, enable_gqa: bool = False)",
       "softmax(query · keyᵀ · scale + mask) · value; scale defaults to 1/sqrt(width); a bool mask "
       "keeps where True; a fully masked row gives zeros",
       infer_attention, evaluate_attention, attention_cost},
      {"rotary_embedding(input, cos, sin, interleaved: bool = False)",
       "x · cos + rotate(x) · sin over the last dimension: rotate pairs element i with i + D/2 "
       "(interleaved: 2i with 2i + 1) as (−second, first); cos and sin have D or D/2 elements",
       infer_rotary, evaluate_rotary, rotary_cost},
  };
}

}  // namespace fiel::graph
