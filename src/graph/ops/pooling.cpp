// Pooling over one to three dimensions.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "graph/ops/resampling.h"
#include "graph/ops/spatial.h"
#include "graph/value.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

struct Range3 {
  Triple from, to;
  bool empty() const { return from[0] >= to[0] || from[1] >= to[1] || from[2] >= to[2]; }
  int64_t count() const { return (to[0] - from[0]) * (to[1] - from[1]) * (to[2] - from[2]); }
};

/// For each plane and output position: f(plane of the input, position, output element).
template <typename F>
void for_each_output(const Evaluation& e, const Window& w, F f) {
  int64_t positions = w.positions(), plane = w.inputs();
  int64_t planes = positions == 0 ? 0 : numel(e.call.results[0].shape) / positions;
  int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(positions * w.taps(), 1));
  parallel_for(planes, grain, e.threads, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t i = 0; i < positions; ++i) {
        Triple at{i / (w.out[2] * w.out[1]), i / w.out[2] % w.out[1], i % w.out[2]};
        f(p * plane, at, p * positions + i);
      }
  });
}

Result<Window> pool_window(const Call& c, size_t dims, bool dilated, bool padded) {
  FIEL_TRY_STATUS(need_rank(c, 0, dims + 1, dims + 2));
  Window w;
  w.in = spatial_extent(c.shape(0), dims);
  FIEL_TRY(w.kernel, triple(c, "kernel_size", c.integers("kernel_size"), dims, 1, 1));
  w.stride = w.kernel;
  if (!c.integers("stride").empty()) {
    FIEL_TRY(w.stride, triple(c, "stride", c.integers("stride"), dims, 1, 1));
  }
  if (padded) {
    FIEL_TRY(w.before, triple(c, "padding", c.integers("padding"), dims, 0, 0));
  }
  if (dilated) {
    FIEL_TRY(w.dilation, triple(c, "dilation", c.integers("dilation"), dims, 1, 1));
  }
  FIEL_TRY_STATUS(check_shape({w.kernel[0], w.kernel[1], w.kernel[2]}));
  bool ceil_mode = c.flag("ceil_mode");
  for (size_t i = 0; i < 3; ++i) {
    if (w.before[i] > w.kernel[i] / 2)
      return refuse(
          fmt::format("padding {} is more than half of the kernel {}", w.before[i], w.kernel[i]));
    int64_t room = w.in[i] + 2 * w.before[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (room < 0 || w.in[i] < 1)
      return refuse(
          fmt::format("the window of {} does not fit the input of {}", w.kernel[i], w.in[i]));
    w.out[i] = (room + (ceil_mode ? w.stride[i] - 1 : 0)) / w.stride[i] + 1;
    // A last window that starts in the padding behind the input is dropped.
    if (ceil_mode && (w.out[i] - 1) * w.stride[i] >= w.in[i] + w.before[i]) --w.out[i];
  }
  return w;
}

Result<Types> pooled(const Call& c, size_t dims, const Window& w) {
  Shape out = c.shape(0);
  for (size_t i = 0; i < dims; ++i) out[out.size() - dims + i] = w.out[3 - dims + i];
  return one(c.type(0).dtype, std::move(out));
}

// --- max

void max_over(const Value& x, Value& y, Value* index, int64_t plane, const Window& w,
              const Range3& r, const Triple& step, int64_t to) {
  double best = -INFINITY;
  int64_t where = -1;
  for (int64_t a = r.from[0]; a < r.to[0]; a += step[0])
    for (int64_t b = r.from[1]; b < r.to[1]; b += step[1])
      for (int64_t d = r.from[2]; d < r.to[2]; d += step[2]) {
        int64_t i = (a * w.in[1] + b) * w.in[2] + d;
        double v = x.real_at(plane + i);
        if (where >= 0 && !(v > best) && !std::isnan(v)) continue;
        best = v;
        where = i;
      }
  if (y.floating())
    y.reals()[to] = best;
  else
    y.integers()[to] = where < 0 ? 0 : x.integers()[plane + where];
  if (index) index->integers()[to] = where;
}

Range3 clipped(const Window& w, const Triple& at) {
  Range3 r;
  for (size_t i = 0; i < 3; ++i) {
    r.from[i] = at[i] * w.stride[i] - w.before[i];
    r.to[i] = std::min(r.from[i] + w.dilation[i] * (w.kernel[i] - 1) + 1, w.in[i]);
    // To the first tap inside, without a step for each of a hostile padding's billions.
    if (r.from[i] < 0)
      r.from[i] += (-r.from[i] + w.dilation[i] - 1) / w.dilation[i] * w.dilation[i];
  }
  return r;
}
Range3 adaptive_range(const Window& w, const Triple& at) {
  Range3 r;
  for (size_t i = 0; i < 3; ++i) {
    r.from[i] = at[i] * w.in[i] / w.out[i];
    r.to[i] = ((at[i] + 1) * w.in[i] + w.out[i] - 1) / w.out[i];
  }
  return r;
}

Result<Types> with_indices(const Call& c, Result<Types> types) {
  if (types && c.flag("return_indices")) types->push_back({DType::i64, (*types)[0].shape});
  return types;
}
template <size_t Dims>
Result<Types> infer_max_pool(const Call& c) {
  FIEL_TRY(Window w, pool_window(c, Dims, true, true));
  return with_indices(c, pooled(c, Dims, w));
}
template <typename RangeOf>
Values max_pool(const Evaluation& e, const Window& w, RangeOf range_of) {
  Values out;
  for (const TensorType& t : e.call.results) out.push_back(Value::make(t));
  Value* index = out.size() > 1 ? &out[1] : nullptr;
  for_each_output(e, w, [&](int64_t plane, const Triple& at, int64_t to) {
    max_over(*e.inputs[0], out[0], index, plane, w, range_of(w, at), w.dilation, to);
  });
  return out;
}
template <size_t Dims>
Result<Values> evaluate_max_pool(const Evaluation& e) {
  FIEL_TRY(Window w, pool_window(e.call, Dims, true, true));
  return max_pool(e, w, clipped);
}

// --- average

template <size_t Dims>
Result<Types> infer_avg_pool(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY(Window w, pool_window(c, Dims, false, true));
  if (Dims > 1 && c.has("divisor_override") && c.integer("divisor_override") == 0)
    return refuse("divisor_override must not be 0");
  return pooled(c, Dims, w);
}

double sum_of(const double* x, const Window& w, const Range3& r) {
  double total = 0;
  for (int64_t a = r.from[0]; a < r.to[0]; ++a)
    for (int64_t b = r.from[1]; b < r.to[1]; ++b) {
      double row = 0;
      for (int64_t d = r.from[2]; d < r.to[2]; ++d) row += x[(a * w.in[1] + b) * w.in[2] + d];
      total += row;
    }
  return total;
}

template <size_t Dims>
Result<Values> evaluate_avg_pool(const Evaluation& e) {
  FIEL_TRY(Window w, pool_window(e.call, Dims, false, true));
  Value out = Value::make(e.call.results[0]);
  bool include_pad = e.call.flag("count_include_pad");
  int64_t divisor = 0;
  if constexpr (Dims > 1) divisor = e.call.integer("divisor_override");
  for_each_output(e, w, [&](int64_t plane, const Triple& at, int64_t to) {
    Range3 r, padded;
    for (size_t i = 0; i < 3; ++i) {
      padded.from[i] = at[i] * w.stride[i] - w.before[i];
      padded.to[i] = std::min(padded.from[i] + w.kernel[i], w.in[i] + w.before[i]);
      r.from[i] = std::max<int64_t>(padded.from[i], 0);
      r.to[i] = std::min(padded.to[i], w.in[i]);
    }
    int64_t n = divisor != 0 ? divisor : include_pad ? padded.count() : r.count();
    out.reals()[to] =
        r.empty() ? 0 : sum_of(e.inputs[0]->reals() + plane, w, r) / static_cast<double>(n);
  });
  return Values{std::move(out)};
}

// --- adaptive

Result<Window> adaptive_window(const Call& c, size_t dims) {
  FIEL_TRY_STATUS(need_rank(c, 0, dims + 1, dims + 2));
  Window w;
  w.in = spatial_extent(c.shape(0), dims);
  FIEL_TRY(w.out, triple(c, "output_size", c.integers("output_size"), dims, 1, 1));
  for (size_t i = 0; i < 3; ++i) {
    if (w.in[i] < 1) return refuse("input must not be empty");
    w.kernel[i] = (w.in[i] + w.out[i] - 1) / w.out[i];
  }
  return w;
}
template <size_t Dims>
Result<Types> infer_adaptive_avg(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY(Window w, adaptive_window(c, Dims));
  return pooled(c, Dims, w);
}
template <size_t Dims>
Result<Values> evaluate_adaptive_avg(const Evaluation& e) {
  FIEL_TRY(Window w, adaptive_window(e.call, Dims));
  Value out = Value::make(e.call.results[0]);
  for_each_output(e, w, [&](int64_t plane, const Triple& at, int64_t to) {
    Range3 r = adaptive_range(w, at);
    out.reals()[to] = sum_of(e.inputs[0]->reals() + plane, w, r) / static_cast<double>(r.count());
  });
  return Values{std::move(out)};
}
template <size_t Dims>
Result<Types> infer_adaptive_max(const Call& c) {
  FIEL_TRY(Window w, adaptive_window(c, Dims));
  return with_indices(c, pooled(c, Dims, w));
}
template <size_t Dims>
Result<Values> evaluate_adaptive_max(const Evaluation& e) {
  FIEL_TRY(Window w, adaptive_window(e.call, Dims));
  return max_pool(e, w, adaptive_range);
}

// --- power average

template <size_t Dims>
Result<Types> infer_lp_pool(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  if (c.real("norm_type") == 0) return refuse("norm_type must not be 0");
  FIEL_TRY(Window w, pool_window(c, Dims, false, false));
  return pooled(c, Dims, w);
}
template <size_t Dims>
Result<Values> evaluate_lp_pool(const Evaluation& e) {
  FIEL_TRY(Window w, pool_window(e.call, Dims, false, false));
  double p = e.call.real("norm_type");
  Value powers = Value::make(e.call.inputs[0].type), out = Value::make(e.call.results[0]);
  for (int64_t i = 0; i < powers.count(); ++i)
    powers.reals()[i] = std::pow(e.inputs[0]->reals()[i], p);
  for_each_output(e, w, [&](int64_t plane, const Triple& at, int64_t to) {
    Range3 r = clipped(w, at);
    Triple full;
    for (size_t i = 0; i < 3; ++i)
      full[i] = std::min(at[i] * w.stride[i] + w.kernel[i], w.in[i]) - at[i] * w.stride[i];
    // PyTorch averages over the clipped window and multiplies by the whole one.
    double mean =
        sum_of(powers.reals() + plane, w, r) / static_cast<double>(full[0] * full[1] * full[2]);
    double whole = (mean < 0   ? -1.0
                    : mean > 0 ? 1.0
                               : mean) *
                   std::fabs(mean) * static_cast<double>(w.taps());
    out.reals()[to] = std::pow(whole, 1 / p);
  });
  return Values{std::move(out)};
}

double window_taps(const Call& c, size_t dims) {
  const char* name = "kernel_size";
  std::vector<int64_t> k = c.integers(name);
  double taps = 1;
  for (size_t i = 0; i < dims; ++i) taps *= static_cast<double>(k.size() == 1 ? k[0] : k[i]);
  return taps;
}
template <size_t Dims, bool Rounds>
Work pool_cost(const Call& c) {
  double taps = window_taps(c, Dims);
  return {taps * static_cast<double>(saturating_product(c.results[0].shape)), Rounds ? taps : 0};
}
template <bool Rounds>
Work adaptive_cost(const Call& c) {
  double inputs = static_cast<double>(saturating_product(c.shape(0)));
  double outputs = std::max(1.0, static_cast<double>(saturating_product(c.results[0].shape)));
  return {inputs, Rounds ? std::max(1.0, inputs / outputs) : 0};
}

template <size_t Dims>
void add_rows(std::vector<Operator>& rows) {
  std::string d = std::to_string(Dims) + "d";
  std::string over = Dims == 1   ? " over one dimension"
                     : Dims == 2 ? " over two dimensions"
                                 : " over three dimensions";
  rows.push_back({"max_pool" + d +
                      "(input, kernel_size: int[], stride: int[] = [], padding: int[] = 0, "
                      "dilation: int[] = 1, ceil_mode: bool = False, return_indices: bool = False)",
                  "largest value of each window" + over, infer_max_pool<Dims>,
                  evaluate_max_pool<Dims>, pool_cost<Dims, false>, 2});
  rows.push_back({"avg_pool" + d +
                      "(input, kernel_size: int[], stride: int[] = [], padding: int[] = 0, "
                      "ceil_mode: bool = False, count_include_pad: bool = True" +
                      (Dims > 1 ? ", divisor_override: int = None)" : ")"),
                  "mean of each window" + over, infer_avg_pool<Dims>, evaluate_avg_pool<Dims>,
                  pool_cost<Dims, true>});
  rows.push_back({"lp_pool" + d +
                      "(input, norm_type: float, kernel_size: int[], stride: int[] = [], "
                      "ceil_mode: bool = False)",
                  "(Σ x^p)^(1/p) of each window" + over, infer_lp_pool<Dims>,
                  evaluate_lp_pool<Dims>, pool_cost<Dims, true>});
  rows.push_back({"adaptive_avg_pool" + d + "(input, output_size: int[])",
                  "mean of windows that give output_size" + over, infer_adaptive_avg<Dims>,
                  evaluate_adaptive_avg<Dims>, adaptive_cost<true>});
  rows.push_back(
      {"adaptive_max_pool" + d + "(input, output_size: int[], return_indices: bool = False)",
       "largest value of windows that give output_size" + over, infer_adaptive_max<Dims>,
       evaluate_adaptive_max<Dims>, adaptive_cost<false>, 2});
}

}  // namespace

std::vector<Operator> pooling_operators() {
  std::vector<Operator> rows;
  add_rows<1>(rows);
  add_rows<2>(rows);
  add_rows<3>(rows);
  for (Operator& op : resampling_operators()) rows.push_back(std::move(op));
  return rows;
}

}  // namespace fiel::graph
