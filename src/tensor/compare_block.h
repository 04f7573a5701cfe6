// The inner loop of compare(): a run of elements that are all ordinary (finite, within their
// bounds, no worse than what has been seen) is summed without a branch; any other run is handed
// back and taken element by element. Private to tensor/.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace fiel::detail {

/// The coefficients of the bound that are the same for all elements of a run.
struct BlockTerms {
  double unit = 0, strict_unit = 0;   ///< u · g, widened to TF32's where that is let pass, and not
  double element = 0, storage = 0;    ///< factors of sensitivity and storage
  double floor = 0;                   ///< the row's share, times unit
  double relative = 0, absolute = 0;  ///< rounding of the output type
  double own_limit = 0;               ///< of the task's own tolerance
  double scale = 0, max_finite = 0, ill_conditioned = 0;
  double step = 0, smallest_step = 0;  ///< distance between neighbours at 1, and at 0
};

struct BlockSums {
  bool ordinary = true;
  double error2 = 0, output2 = 0, sensitivity2 = 0, storage2 = 0, max_abs = 0;
  int64_t exact = 0, unstable = 0;
};

/// `s` and `storage` may be null: then |y| + scale (or 0, without sensitivity) and 0 stand in.
template <bool kMeasured>
BlockSums ordinary_block(const double* y, const double* a, const double* rounded, const double* s,
                         const double* storage, int64_t n, const BlockTerms& t, double worst_ratio,
                         double max_ulp) {
  constexpr int kLanes = 4;
  double error2[kLanes] = {}, output2[kLanes] = {}, sens2[kLanes] = {}, storage2[kLanes] = {},
         largest[kLanes] = {}, strange[kLanes] = {}, exact[kLanes] = {}, unstable[kLanes] = {};
  auto lane = [&](int64_t i, int l) {
    const double v = y[i], e = std::fabs(a[i] - v), size = std::fabs(v) + t.scale;
    const double si = kMeasured ? s[i] : size, di = kMeasured && storage ? storage[i] : 0;
    const double rest = t.storage * di + t.relative * std::fabs(v) + t.absolute;
    const double reach = t.element * si + t.floor;
    const double allowed = std::max(t.unit * reach + rest, t.own_limit);
    const double off = std::fabs(a[i] - rounded[i]);
    const double step = std::max(
        t.step * std::bit_cast<double>(std::bit_cast<uint64_t>(rounded[i]) & 0x7FF0000000000000),
        t.smallest_step);
    // NaN in any of them makes the sum NaN; the comparisons are false for NaN by themselves.
    double odd = (a[i] - a[i]) + (v - v) + (si - si) + (di - di);
    odd += e > worst_ratio * allowed ? 1.0 : 0.0;
    odd += e > t.strict_unit * reach + rest ? 1.0 : 0.0;
    odd += std::fabs(v) + allowed >= t.max_finite ? 1.0 : 0.0;
    odd += off > max_ulp * step ? 1.0 : 0.0;
    strange[l] += odd;
    const double ill = t.unit * si > t.ill_conditioned * size + rest ? 1.0 : 0.0, good = 1 - ill;
    exact[l] += off == 0 ? 1.0 : 0.0;
    unstable[l] += ill;
    error2[l] += good * (e * e);
    output2[l] += good * (v * v);
    sens2[l] += good * (si * si);
    storage2[l] += good * (di * di);
    largest[l] = e > largest[l] ? e : largest[l];
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lane(i + l, l);
  for (; i < n; ++i) lane(i, 0);
  BlockSums out;
  double odd = 0, equal = 0, ill = 0;
  for (int l = 0; l < kLanes; ++l) {
    odd += strange[l];
    equal += exact[l];
    ill += unstable[l];
    out.error2 += error2[l];
    out.output2 += output2[l];
    out.sensitivity2 += sens2[l];
    out.storage2 += storage2[l];
    out.max_abs = std::max(out.max_abs, largest[l]);
  }
  out.ordinary = odd == 0 && std::isfinite(out.error2 + out.sensitivity2);
  out.exact = std::isfinite(equal) ? static_cast<int64_t>(equal) : 0;
  out.unstable = static_cast<int64_t>(ill);
  return out;
}

}  // namespace fiel::detail
