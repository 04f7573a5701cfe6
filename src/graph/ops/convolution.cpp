// Convolutions and their transposes, one to three dimensions, as products of the weight with a
// matrix of patches (im2col), gathered a tile of positions at a time.
#include <fmt/core.h>

#include <algorithm>

#include "base/parallel.h"
#include "graph/gemm.h"
#include "graph/ops/spatial.h"
#include "graph/ops/strided.h"
#include "graph/value.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

struct Plan {
  Window window;
  int64_t batch = 1, in_channels = 0, out_channels = 0, groups = 1;
  bool batched = true;
};

Status check_operands(const Call& c, size_t dims) {
  FIEL_TRY_STATUS(need_rank(c, 0, dims + 1, dims + 2));
  FIEL_TRY_STATUS(need_rank(c, 1, dims + 2, dims + 2));
  for (size_t slot : {0u, 1u, 2u}) FIEL_TRY_STATUS(need_floating(c, slot));
  return need_rank(c, 2, 1, 1);
}

Result<Plan> common_plan(const Call& c, size_t dims) {
  FIEL_TRY_STATUS(check_operands(c, dims));
  Plan p;
  const Shape& x = c.shape(0);
  p.batched = x.size() == dims + 2;
  p.batch = p.batched ? x[0] : 1;
  p.in_channels = x[x.size() - dims - 1];
  p.groups = c.integer("groups");
  if (p.groups < 1) return refuse(fmt::format("groups is {}; it must be at least 1", p.groups));
  if (p.in_channels % p.groups)
    return refuse(fmt::format("{} channels do not divide into {} groups", p.in_channels, p.groups));
  p.window.in = spatial_extent(x, dims);
  p.window.kernel = spatial_extent(c.shape(1), dims);
  FIEL_TRY(p.window.stride, triple(c, "stride", c.integers("stride"), dims, 1, 1));
  FIEL_TRY(p.window.dilation, triple(c, "dilation", c.integers("dilation"), dims, 1, 1));
  for (size_t i = 0; i < 3; ++i) {
    if (p.window.kernel[i] < 1) return refuse("weight has an empty kernel");
    if (p.window.kernel[i] > kMaxWindow) return refuse("the kernel is too large");
  }
  return p;
}

Status check_bias(const Call& c, int64_t channels) {
  if (c.given(2) && c.shape(2)[0] != channels)
    return refuse(
        fmt::format("bias has {} elements for {} output channels", c.shape(2)[0], channels));
  return {};
}

/// Padding as numbers or as "same"/"valid"; `total` counts both sides.
Status resolve_padding(const Call& c, size_t dims, Window& w, Triple& total) {
  const Attribute* padding = c.find("padding");
  if (const auto* word = std::get_if<std::string>(padding)) {
    if (*word != "same" && *word != "valid")
      return refuse(
          fmt::format("padding must be \"same\", \"valid\" or integers, not \"{}\"", *word));
    for (size_t i = 3 - dims; i < 3 && *word == "same"; ++i) {
      if (w.stride[i] != 1) return refuse("padding=\"same\" needs stride 1");
      total[i] = w.dilation[i] * (w.kernel[i] - 1);
      w.before[i] = total[i] / 2;
    }
    return {};
  }
  FIEL_TRY(w.before, triple(c, "padding", c.integers("padding"), dims, 0, 0));
  for (size_t i = 0; i < 3; ++i) total[i] = 2 * w.before[i];
  return {};
}

Result<Plan> plan_forward(const Call& c, size_t dims) {
  FIEL_TRY(Plan p, common_plan(c, dims));
  const Shape& w = c.shape(1);
  p.out_channels = w[0];
  if (w[1] != p.in_channels / p.groups)
    return refuse(fmt::format("weight takes {} channels a group, input has {}", w[1],
                              p.in_channels / p.groups));
  if (p.out_channels % p.groups)
    return refuse(
        fmt::format("{} output channels do not divide into {} groups", p.out_channels, p.groups));
  FIEL_TRY_STATUS(check_bias(c, p.out_channels));
  Triple total{0, 0, 0};
  FIEL_TRY_STATUS(resolve_padding(c, dims, p.window, total));
  Window& win = p.window;
  for (size_t i = 0; i < 3; ++i) {
    // kMaxWindow squared and 2^40 fit int64.
    int64_t reach = win.dilation[i] * (win.kernel[i] - 1) + 1, room = win.in[i] + total[i];
    if (reach > room)
      return refuse(
          fmt::format("the kernel reaches over {} elements, the padded input has {}", reach, room));
    win.out[i] = (room - reach) / win.stride[i] + 1;
  }
  return p;
}

Result<Plan> plan_transposed(const Call& c, size_t dims) {
  FIEL_TRY(Plan p, common_plan(c, dims));
  const Shape& w = c.shape(1);
  if (w[0] != p.in_channels)
    return refuse(fmt::format("weight takes {} channels, input has {}", w[0], p.in_channels));
  if (__builtin_mul_overflow(w[1], p.groups, &p.out_channels))
    return refuse("too many output channels");
  FIEL_TRY_STATUS(check_bias(c, p.out_channels));
  Window& win = p.window;
  FIEL_TRY(win.before, triple(c, "padding", c.integers("padding"), dims, 0, 0));
  FIEL_TRY(Triple extra, triple(c, "output_padding", c.integers("output_padding"), dims, 0, 0));
  for (size_t i = 0; i < 3; ++i) {
    if (extra[i] > 0 && extra[i] >= std::max(win.stride[i], win.dilation[i]))
      return refuse("output_padding must be smaller than stride or dilation");
    int64_t spread = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(win.in[i] - 1, 0), win.stride[i], &spread) ||
        spread > kMaxElements)
      return fail(ErrorCode::limit, "the result is too large");
    win.out[i] = spread - 2 * win.before[i] + win.dilation[i] * (win.kernel[i] - 1) + extra[i] + 1;
    if (win.out[i] < 1) return refuse(fmt::format("the result would have extent {}", win.out[i]));
  }
  return p;
}

Result<Types> result_of(const Call& c, size_t dims, const Plan& p) {
  Shape shape;
  if (p.batched) shape.push_back(p.batch);
  shape.push_back(p.out_channels);
  for (size_t i = 3 - dims; i < 3; ++i) shape.push_back(p.window.out[i]);
  return one(promote_slots(c, {0, 1}), std::move(shape));
}

template <size_t Dims>
Result<Types> infer_forward(const Call& c) {
  FIEL_TRY(Plan p, plan_forward(c, Dims));
  return result_of(c, Dims, p);
}
template <size_t Dims>
Result<Types> infer_transposed(const Call& c) {
  FIEL_TRY(Plan p, plan_transposed(c, Dims));
  return result_of(c, Dims, p);
}

/// The input element that tap k reads for output position o along one dimension, or -1.
template <bool Transposed>
int64_t source_index(const Window& w, size_t d, int64_t o, int64_t k) {
  if constexpr (Transposed) {
    int64_t spread = o + w.before[d] - k * w.dilation[d];
    if (spread < 0 || spread % w.stride[d]) return -1;
    int64_t i = spread / w.stride[d];
    return i < w.in[d] ? i : -1;
  } else {
    int64_t i = o * w.stride[d] - w.before[d] + k * w.dilation[d];
    return i >= 0 && i < w.in[d] ? i : -1;
  }
}

/// patches[(channel, tap)][position], zero where a tap reads padding.
template <bool Transposed>
void gather_patches(const double* x, const Window& w, int64_t channels, int64_t first,
                    int64_t count, double* patches) {
  std::vector<int64_t> where(static_cast<size_t>(count));
  int64_t taps = w.taps(), plane = w.inputs();
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t k2 = tap % w.kernel[2], k1 = tap / w.kernel[2] % w.kernel[1];
    int64_t k0 = tap / (w.kernel[2] * w.kernel[1]);
    for (int64_t p = 0; p < count; ++p) {
      int64_t position = first + p;
      int64_t o2 = position % w.out[2], o1 = position / w.out[2] % w.out[1];
      int64_t o0 = position / (w.out[2] * w.out[1]);
      int64_t i0 = source_index<Transposed>(w, 0, o0, k0);
      int64_t i1 = source_index<Transposed>(w, 1, o1, k1);
      int64_t i2 = source_index<Transposed>(w, 2, o2, k2);
      where[static_cast<size_t>(p)] =
          i0 < 0 || i1 < 0 || i2 < 0 ? -1 : (i0 * w.in[1] + i1) * w.in[2] + i2;
    }
    for (int64_t c = 0; c < channels; ++c) {
      double* row = patches + (c * taps + tap) * count;
      const double* from = x + c * plane;
      for (int64_t p = 0; p < count; ++p) {
        int64_t i = where[static_cast<size_t>(p)];
        row[p] = i < 0 ? 0 : from[i];
      }
    }
  }
}

/// weight is [out_channels][in_channels / groups][taps].
template <bool Transposed>
Value convolve(const Evaluation& e, const Plan& p, const double* weight) {
  Value out = Value::make(e.call.results[0]);
  if (out.count() == 0) return out;
  const double* bias = e.call.given(2) ? e.inputs[2]->reals() : nullptr;
  const double* x = e.inputs[0]->reals();
  int64_t cin = p.in_channels / p.groups, cout = p.out_channels / p.groups;
  int64_t depth = cin * p.window.taps(), positions = p.window.positions();
  int64_t tile =
      std::min(positions, std::clamp<int64_t>((1 << 19) / std::max<int64_t>(depth, 1), 8, 1024));
  int64_t tiles = (positions + tile - 1) / tile;
  parallel_for(p.batch * p.groups * tiles, 1, e.threads, [&](int64_t from, int64_t to) {
    std::vector<double> patches(static_cast<size_t>(depth * tile));
    for (int64_t job = from; job < to; ++job) {
      int64_t first = job % tiles * tile, g = job / tiles % p.groups, n = job / tiles / p.groups;
      int64_t count = std::min(tile, positions - first);
      gather_patches<Transposed>(x + (n * p.in_channels + g * cin) * p.window.inputs(), p.window,
                                 cin, first, count, patches.data());
      double* y = out.reals() + (n * p.out_channels + g * cout) * positions + first;
      gemm({weight + g * cout * depth, depth, 1}, {patches.data(), count, 1}, y, positions, cout,
           count, depth, 1);
      for (int64_t o = 0; bias && o < cout; ++o)
        for (int64_t i = 0; i < count; ++i) y[o * positions + i] += bias[g * cout + o];
    }
  });
  return out;
}

template <size_t Dims>
Result<Values> evaluate_forward(const Evaluation& e) {
  FIEL_TRY(Plan p, plan_forward(e.call, Dims));
  return Values{convolve<false>(e, p, e.inputs[1]->reals())};
}

template <size_t Dims>
Result<Values> evaluate_transposed(const Evaluation& e) {
  FIEL_TRY(Plan p, plan_transposed(e.call, Dims));
  // [groups, cin, cout, taps] -> [groups, cout, cin, taps].
  int64_t cin = p.in_channels / p.groups, cout = p.out_channels / p.groups;
  Value w = e.inputs[1]->reshaped({p.groups, cin, cout, p.window.taps()});
  w = permuted(w, {0, 2, 1, 3}, e.threads);
  return Values{convolve<true>(e, p, w.reals())};
}

/// Taps that fall on padding count: the cost is what a dense kernel does.
template <size_t Dims>
Work forward_cost(const Call& c) {
  double depth = static_cast<double>(saturating_product(c.shape(1))) /
                 static_cast<double>(std::max<int64_t>(c.shape(1)[0], 1));
  return {2 * depth * static_cast<double>(saturating_product(c.results[0].shape)), depth};
}
template <size_t Dims>
Work transposed_cost(const Call& c) {
  double per_input = static_cast<double>(saturating_product(c.shape(1))) /
                     static_cast<double>(std::max<int64_t>(c.shape(1)[0], 1));
  double inputs = static_cast<double>(saturating_product(c.shape(0)));
  double outputs = std::max(1.0, static_cast<double>(saturating_product(c.results[0].shape)));
  double macs = inputs * per_input;
  return {2 * macs, std::max(1.0, macs / outputs)};
}

}  // namespace

std::vector<Operator> convolution_operators() {
  static constexpr const char* kForward =
      "(input, weight, bias?, stride: int[] = 1, padding: padding = 0, dilation: int[] = 1, "
      "groups: int = 1)";
  static constexpr const char* kTransposed =
      "(input, weight, bias?, stride: int[] = 1, padding: int[] = 0, output_padding: int[] = 0, "
      "groups: int = 1, dilation: int[] = 1)";
  std::vector<Operator> rows;
  auto add = [&](const char* name, const char* arguments, const char* doc, Infer infer,
                 Evaluate evaluate, CostRule rule) {
    rows.push_back({std::string(name) + arguments, doc, infer, evaluate, rule});
  };
  add("conv1d", kForward,
      "convolution (cross-correlation) over one dimension; padding may be "
      "\"same\" or \"valid\"",
      infer_forward<1>, evaluate_forward<1>, forward_cost<1>);
  add("conv2d", kForward, "over two dimensions", infer_forward<2>, evaluate_forward<2>,
      forward_cost<2>);
  add("conv3d", kForward, "over three dimensions", infer_forward<3>, evaluate_forward<3>,
      forward_cost<3>);
  add("conv_transpose1d", kTransposed, "transposed convolution over one dimension",
      infer_transposed<1>, evaluate_transposed<1>, transposed_cost<1>);
  add("conv_transpose2d", kTransposed, "over two dimensions", infer_transposed<2>,
      evaluate_transposed<2>, transposed_cost<2>);
  add("conv_transpose3d", kTransposed, "over three dimensions", infer_transposed<3>,
      evaluate_transposed<3>, transposed_cost<3>);
  return rows;
}

}  // namespace fiel::graph
