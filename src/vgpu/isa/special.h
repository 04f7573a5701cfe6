// Approximations on one value, written so that loops over them vectorise. Errors were measured over
// every mantissa (tests/vgpu/alu_special_test.cpp) and lie under the bounds of the PTX manual; a
// real GPU's last bits differ.
#pragma once

#include "vgpu/isa/float_bits.h"

namespace fiel::vgpu::FIEL_ISA {

/// 2^x for |x| <= 0.5 as 1 + x q(x): minimax, relative error 2^-28.9 before rounding.
[[gnu::always_inline]] inline float exp2_reduced(float f) {
  float q = 0.0001535336178639462848f;
  q = __builtin_fmaf(q, f, 0.001339887437823492538f);
  q = __builtin_fmaf(q, f, 0.009618437358438819053f);
  q = __builtin_fmaf(q, f, 0.05550332471257186603f);
  q = __builtin_fmaf(q, f, 0.240226479136186941f);
  q = __builtin_fmaf(q, f, 0.6931472028549825837f);
  return __builtin_fmaf(q, f, 1.0f);
}
/// 2^x, subnormal results included; -inf gives +0, NaN stays NaN.
[[gnu::always_inline]] inline float exp2_float(float x) {
  float y = x < -160.0f ? -160.0f : x;
  y = y > 130.0f ? 130.0f : y;
  // 1.5 * 2^23 rounds y to an integer that then stands in the low bits.
  const float shifted = y + 12582912.0f;
  const auto n = static_cast<int32_t>(bits_of_float(shifted) - 0x4b400000u);
  const float p = exp2_reduced(y - (shifted - 12582912.0f));
  // In two factors: one of them alone leaves the exponent range, and only the last product rounds.
  const int32_t half = n >> 1;
  const float low = float_of(static_cast<uint32_t>(half + 127) << 23);
  const float high = float_of(static_cast<uint32_t>(n - half + 127) << 23);
  return p * low * high;
}

/// 2^y in double to 2^-38, for |y| < 1000.
[[gnu::always_inline]] inline double exp2_double(double y) {
  const double shifted = y + 6755399441055744.0;  // 1.5 * 2^52
  const uint64_t n = bits_of_double(shifted) - 0x4338000000000000ull;
  const double f = y - (shifted - 6755399441055744.0);
  double q = 1.330978588298236898e-6;
  q = __builtin_fma(q, f, 0.00001532389009178465649);
  q = __builtin_fma(q, f, 0.0001540320802889965255);
  q = __builtin_fma(q, f, 0.001333338885611226638);
  q = __builtin_fma(q, f, 0.009618129488841805022);
  q = __builtin_fma(q, f, 0.05550411021132341685);
  q = __builtin_fma(q, f, 0.2402265069464964489);
  q = __builtin_fma(q, f, 0.6931471805190536716);
  const double p = __builtin_fma(q, f, 1.0);
  return p * double_of((n + 1023) << 52);
}

[[gnu::always_inline]] inline float tanh_float(float x) {
  const double a = static_cast<double>(float_of(bits_of_float(x) & 0x7fffffffu));
  const double bounded = a > 16.0 ? 16.0 : a;
  const double t = exp2_double(bounded * -2.8853900817779268147);  // e^(-2a)
  const double big = (1.0 - t) / (1.0 + t);
  const double s = a * a;  // Taylor to a^11: 2e-9 at 0.3
  double series = -1382.0 / 155925.0;
  series = __builtin_fma(series, s, 62.0 / 2835.0);
  series = __builtin_fma(series, s, -17.0 / 315.0);
  series = __builtin_fma(series, s, 2.0 / 15.0);
  series = __builtin_fma(series, s, -1.0 / 3.0);
  const double small = __builtin_fma(series * s, a, a);
  const auto magnitude = static_cast<float>(a < 0.3 ? small : big);
  const uint32_t sign = bits_of_float(x) & 0x80000000u;
  return float_of(x != x ? kCanonicalNan : bits_of_float(magnitude) | sign);
}

}  // namespace fiel::vgpu::FIEL_ISA
