#include "graph/ops/resampling.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "graph/ops/gather_dims.h"
#include "graph/ops/spatial.h"
#include "graph/value.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

// --- interpolate

struct Resize {
  size_t dims = 0;
  Triple in{1, 1, 1}, out{1, 1, 1};
  std::array<double, 3> scale{0, 0, 0};  ///< as given; 0: from the sizes
};

size_t dims_of_mode(const std::string& mode) {
  return mode == "linear"                          ? 1
         : mode == "bilinear" || mode == "bicubic" ? 2
         : mode == "trilinear"                     ? 3
                                                   : 0;
}

Status check_mode(const Call& c, size_t dims) {
  std::string mode = c.text("mode");
  size_t wanted = dims_of_mode(mode);
  if (wanted == 0 && mode != "nearest" && mode != "nearest-exact" && mode != "area")
    return refuse(fmt::format("mode '{}' is unknown", mode),
                  "nearest, nearest-exact, linear, bilinear, bicubic, trilinear, area");
  if (wanted != 0 && wanted != dims)
    return refuse(fmt::format("mode {} needs an input of rank {}", mode, wanted + 2));
  if (wanted == 0 && c.flag("align_corners"))
    return refuse(fmt::format("align_corners has no meaning for mode {}", mode));
  return {};
}

Result<Resize> resize_of(const Call& c) {
  FIEL_TRY_STATUS(need_rank(c, 0, 3, 5));
  Resize r;
  r.dims = c.shape(0).size() - 2;
  r.in = spatial_extent(c.shape(0), r.dims);
  FIEL_TRY_STATUS(check_mode(c, r.dims));
  if (c.has("size") == c.has("scale_factor")) return refuse("needs either size or scale_factor");
  for (int64_t extent : r.in)
    if (extent < 1) return refuse("input must not be empty");
  if (c.has("size")) {
    FIEL_TRY(r.out, triple(c, "size", c.integers("size"), r.dims, 1, 1));
    return r;
  }
  std::vector<double> factors = c.reals("scale_factor");
  if (factors.size() != 1 && factors.size() != r.dims) return refuse("scale_factor does not fit");
  for (size_t i = 0; i < r.dims; ++i) {
    double f = factors.size() == 1 ? factors[0] : factors[i];
    size_t d = 3 - r.dims + i;
    double extent = std::floor(static_cast<double>(r.in[d]) * f);
    if (!(f > 0) || !(extent >= 1) || extent > 1e12) return refuse("scale_factor is out of range");
    r.out[d] = static_cast<int64_t>(extent);
    r.scale[d] = f;
  }
  return r;
}

Result<Types> infer_interpolate(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY(Resize r, resize_of(c));
  Shape out = c.shape(0);
  for (size_t i = 0; i < r.dims; ++i) out[2 + i] = r.out[3 - r.dims + i];
  return one(c.type(0).dtype, std::move(out));
}

/// What one output index takes from the input: up to four neighbours with weights, or a range of
/// equal ones.
struct Taps {
  int64_t first = 0;
  std::vector<std::pair<int64_t, double>> parts;
};

/// Keys' kernel with a = -0.75, as PyTorch's bicubic.
double cubic(double x) {
  constexpr double a = -0.75;
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

double source_position(int64_t i, int64_t in, int64_t out, double scale, bool corners, bool clamp) {
  if (corners)
    return out > 1
               ? static_cast<double>(i) * static_cast<double>(in - 1) / static_cast<double>(out - 1)
               : 0;
  double ratio = scale > 0 ? 1 / scale : static_cast<double>(in) / static_cast<double>(out);
  double at = ratio * (static_cast<double>(i) + 0.5) - 0.5;
  return clamp && at < 0 ? 0 : at;
}

Taps taps_of(const std::string& mode, int64_t i, int64_t in, int64_t out, double scale,
             bool corners) {
  Taps t;
  double ratio = scale > 0 ? 1 / scale : static_cast<double>(in) / static_cast<double>(out);
  if (mode == "nearest" || mode == "nearest-exact") {
    double at =
        mode == "nearest" ? static_cast<double>(i) * ratio : (static_cast<double>(i) + 0.5) * ratio;
    t.parts.push_back({std::clamp<int64_t>(static_cast<int64_t>(std::floor(at)), 0, in - 1), 1});
    return t;
  }
  if (mode == "area") {
    int64_t from = i * in / out, to = ((i + 1) * in + out - 1) / out;
    for (int64_t k = from; k < to; ++k) t.parts.push_back({k, 1 / static_cast<double>(to - from)});
    return t;
  }
  bool is_cubic = mode == "bicubic";
  double at = source_position(i, in, out, scale, corners, !is_cubic);
  auto base = static_cast<int64_t>(std::floor(at));
  double fraction = at - static_cast<double>(base);
  for (int64_t k = is_cubic ? -1 : 0; k <= (is_cubic ? 2 : 1); ++k) {
    double weight = is_cubic ? cubic(fraction - static_cast<double>(k))
                    : k == 0 ? 1 - fraction
                             : fraction;
    int64_t index = std::clamp<int64_t>(base + k, 0, in - 1);
    t.parts.push_back({index, weight});
  }
  return t;
}

/// One dimension at a time, from the last to the first.
Value resize_dim(const Evaluation& e, const Value& x, size_t dim, const std::vector<Taps>& taps) {
  Shape shape = x.shape();
  auto out_extent = static_cast<int64_t>(taps.size());
  shape[dim] = out_extent;
  Value out = Value::make({x.dtype(), shape});
  int64_t inner = 1, in_extent = x.size(dim);
  for (size_t i = dim + 1; i < shape.size(); ++i) inner *= shape[i];
  int64_t rows = inner == 0 ? 0 : out.count() / inner;
  parallel_for(
      rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(inner, 1)), e.threads,
      [&](int64_t from, int64_t to) {
        for (int64_t r = from; r < to; ++r)
          for (int64_t i = 0; i < inner; ++i) {
            double total = 0;
            for (const auto& [index, weight] : taps[static_cast<size_t>(r % out_extent)].parts)
              total += weight * x.reals()[(r / out_extent * in_extent + index) * inner + i];
            out.reals()[r * inner + i] = total;
          }
      });
  return out;
}

Result<Values> evaluate_interpolate(const Evaluation& e) {
  FIEL_TRY(Resize r, resize_of(e.call));
  std::string mode = e.call.text("mode");
  bool corners = e.call.flag("align_corners");
  Value x = *e.inputs[0];
  for (size_t i = r.dims; i-- > 0;) {
    size_t d = 3 - r.dims + i;
    std::vector<Taps> taps;
    for (int64_t k = 0; k < r.out[d]; ++k)
      taps.push_back(taps_of(mode, k, r.in[d], r.out[d], r.scale[d], corners));
    x = resize_dim(e, x, 2 + i, taps);
  }
  return Values{std::move(x)};
}

// --- unfold, fold

Result<Window> patch_window(const Call& c, const Triple& image) {
  Window w;
  w.in = image;
  FIEL_TRY(w.kernel, triple(c, "kernel_size", c.integers("kernel_size"), 2, 1, 1));
  FIEL_TRY(w.dilation, triple(c, "dilation", c.integers("dilation"), 2, 1, 1));
  FIEL_TRY(w.before, triple(c, "padding", c.integers("padding"), 2, 0, 0));
  FIEL_TRY(w.stride, triple(c, "stride", c.integers("stride"), 2, 1, 1));
  for (size_t i = 0; i < 3; ++i) {
    int64_t room = w.in[i] + 2 * w.before[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (room < 0) return refuse("the kernel does not fit the padded image");
    w.out[i] = room / w.stride[i] + 1;
  }
  FIEL_TRY_STATUS(check_shape({w.out[0], w.out[1], w.out[2]}));
  FIEL_TRY_STATUS(check_shape({w.kernel[0], w.kernel[1], w.kernel[2]}));
  return w;
}

Result<Types> infer_unfold(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(need_rank(c, 0, 3, 4));
  FIEL_TRY(Window w, patch_window(c, spatial_extent(c.shape(0), 2)));
  Shape out = c.shape(0);
  out.resize(out.size() - 2);
  if (__builtin_mul_overflow(out.back(), w.taps(), &out.back())) return refuse("too large");
  out.push_back(w.positions());
  return one(c.type(0).dtype, std::move(out));
}

/// f(patch element, image element or -1), image planes one after another.
template <typename F>
void for_each_patch_element(const Window& w, int64_t planes, F f) {
  int64_t taps = w.taps(), positions = w.positions();
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t o = 0; o < positions; ++o) {
        int64_t y = o / w.out[2] * w.stride[1] - w.before[1] + tap / w.kernel[2] * w.dilation[1];
        int64_t x = o % w.out[2] * w.stride[2] - w.before[2] + tap % w.kernel[2] * w.dilation[2];
        bool inside = y >= 0 && y < w.in[1] && x >= 0 && x < w.in[2];
        f((p * taps + tap) * positions + o, inside ? (p * w.in[1] + y) * w.in[2] + x : -1);
      }
}
Result<Values> evaluate_unfold(const Evaluation& e) {
  const Value& x = *e.inputs[0];
  FIEL_TRY(Window w, patch_window(e.call, spatial_extent(x.shape(), 2)));
  Value out = Value::make(e.call.results[0]);
  if (out.count() == 0) return Values{std::move(out)};
  for_each_patch_element(
      w, x.count() / std::max<int64_t>(w.inputs(), 1),
      [&](int64_t patch, int64_t image) { out.reals()[patch] = image < 0 ? 0 : x.reals()[image]; });
  return Values{std::move(out)};
}

Result<Window> fold_window(const Call& c) {
  FIEL_TRY(Triple image, triple(c, "output_size", c.integers("output_size"), 2, 1, 1));
  return patch_window(c, image);
}
Result<Types> infer_fold(const Call& c) {
  FIEL_TRY_STATUS(need_floating(c, 0));
  FIEL_TRY_STATUS(need_rank(c, 0, 2, 3));
  FIEL_TRY(Window w, fold_window(c));
  Shape out = c.shape(0);
  if (out[out.size() - 2] % w.taps() || out.back() != w.positions())
    return refuse(fmt::format("{} is not made of patches of {} elements at {} positions",
                              fiel::to_string(out), w.taps(), w.positions()));
  int64_t channels = out[out.size() - 2] / w.taps();
  out.resize(out.size() - 2);
  for (int64_t extent : {channels, w.in[1], w.in[2]}) out.push_back(extent);
  return one(c.type(0).dtype, std::move(out));
}
Result<Values> evaluate_fold(const Evaluation& e) {
  FIEL_TRY(Window w, fold_window(e.call));
  Value out = Value::filled(e.call.results[0], 0);
  for_each_patch_element(w, out.count() / w.inputs(), [&](int64_t patch, int64_t image) {
    if (image >= 0) out.reals()[image] += e.inputs[0]->reals()[patch];
  });
  return Values{std::move(out)};
}

Work interpolate_cost(const Call& c) {
  double taps = std::pow(c.text("mode") == "bicubic" ? 4 : 2,
                         static_cast<double>(dims_of_mode(c.text("mode"))));
  return {2 * taps * static_cast<double>(saturating_product(c.results[0].shape)), taps};
}
Work fold_cost(const Call& c) {
  double patches = static_cast<double>(saturating_product(c.shape(0)));
  double image = std::max(1.0, static_cast<double>(saturating_product(c.results[0].shape)));
  return {patches, std::max(1.0, patches / image)};
}

}  // namespace

std::vector<Operator> resampling_operators() {
  return {
      {"interpolate(input, size: int[] = None, scale_factor: float[] = None, mode: str = "
       "\"nearest\", align_corners: bool = False)",
       "resized; mode nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area",
       infer_interpolate, evaluate_interpolate, interpolate_cost},
      {"unfold(input, kernel_size: int[], dilation: int[] = 1, padding: int[] = 0, stride: int[] = "
       "1)",
       "patches of an image as columns", infer_unfold, evaluate_unfold, free_cost},
      {"fold(input, output_size: int[], kernel_size: int[], dilation: int[] = 1, padding: int[] = "
       "0, stride: int[] = 1)",
       "columns of patches summed into an image", infer_fold, evaluate_fold, fold_cost},
  };
}

}  // namespace fiel::graph
