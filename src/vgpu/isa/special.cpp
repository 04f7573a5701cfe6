// Approximate functions: ex2 lg2 sin cos tanh rsqrt rcp sqrt div.{approx,full}. Special values are
// the manual's; results elsewhere are within 2 ulp (sin and cos: absolute error under 2^-24; tanh:
// relative error under 2^-12, as coarse as the instruction).
#include "vgpu/isa/special.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

// ---- ex2, lg2 ----------------------------------------------------------------------------------
template <bool ftz>
constexpr auto kEx2 =
    [](float x) { return flush_if<ftz>(canonical(exp2_float(flush_if<ftz>(x)))); };

// log2(m 2^e) = e + 2/ln2 (t + t^3/3 + …), t = (m-1)/(m+1), m in [sqrt(1/2), sqrt(2)).
template <bool ftz>
constexpr auto kLg2 = [](float x) {
  const float y = flush_if<ftz>(x);
  const uint64_t bits = bits_of_double(static_cast<double>(y));  // subnormals become normal
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdull;
  const uint64_t above = bits - kSqrtHalf;
  const auto exponent = static_cast<int32_t>(static_cast<uint32_t>(above >> 32)) >> 20;
  const double m = double_of((above & 0x000fffffffffffffull) + kSqrtHalf);
  const double t = (m - 1.0) / (m + 1.0), s = t * t;
  double q = 2.0 / 11.0;
  q = __builtin_fma(q, s, 2.0 / 9.0);
  q = __builtin_fma(q, s, 2.0 / 7.0);
  q = __builtin_fma(q, s, 2.0 / 5.0);
  q = __builtin_fma(q, s, 2.0 / 3.0);
  q = __builtin_fma(q, s, 2.0);
  const double log = __builtin_fma(q * t, 1.4426950408889634074, static_cast<double>(exponent));
  float r = static_cast<float>(log);
  r = y == 0.0f ? float_of(0xff800000u) : r;
  r = bits_of_float(y) == 0x7f800000u ? y : r;
  return (y < 0.0f) | (y != y) ? float_of(kCanonicalNan) : r;
};

// ---- sin, cos
// ------------------------------------------------------------------------------------ 2/pi to 288
// bits after the point, for arguments that double arithmetic cannot reduce.
constexpr uint32_t kTwoOverPi[9] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                                    0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au};

struct Reduced {
  double r = 0;  // |r| <= pi/4
  uint32_t quadrant = 0;
};
// |x| >= 2^20: x 2/pi modulo 4 with 64 fractional bits (Payne and Hanek), exact integer arithmetic.
Reduced reduce_large(float x) {
  const uint32_t bits = bits_of_float(x);
  const int exponent = static_cast<int>((bits >> 23) & 0xffu) - 150;  // x = mantissa 2^exponent
  const uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
  // Bits of 2/pi with weight >= 2^(2-exponent) give multiples of 4: skip them.
  const int first = exponent > 2 ? exponent - 2 : 0;
  const auto bit_window = [](int at) {  // 32 bits of the table from bit `at` on
    const int word = at >> 5, shift = at & 31;
    const uint64_t high = word < 9 ? kTwoOverPi[word] : 0u;
    const uint64_t low = word + 1 < 9 ? kTwoOverPi[word + 1] : 0u;
    return static_cast<uint64_t>(static_cast<uint32_t>((high << 32 | low) >> (32 - shift)));
  };
  // window = 96 bits from `first`; product mantissa * window, 120 bits, the top ones dropped.
  const unsigned __int128 window = static_cast<unsigned __int128>(bit_window(first)) << 64 |
                                   static_cast<unsigned __int128>(bit_window(first + 32)) << 32 |
                                   bit_window(first + 64);
  const unsigned __int128 product = window * mantissa;
  // Weight of the product's lowest bit is 2^(exponent - first - 96).
  const int point = 96 - (exponent - first);  // fractional bits
  const auto whole = static_cast<uint64_t>(product >> point);
  const auto fraction =
      static_cast<uint64_t>(point >= 64 ? product >> (point - 64) : product << (64 - point));
  Reduced out;
  const bool up = fraction >> 63;  // nearest multiple
  const auto signed_fraction = static_cast<int64_t>(fraction);
  out.r = static_cast<double>(signed_fraction) * 0x1p-64 * 1.5707963267948966192;
  out.quadrant = static_cast<uint32_t>(whole) + (up ? 1u : 0u);
  if (bits >> 31) {
    out.r = -out.r;
    out.quadrant = 0u - out.quadrant;
  }
  return out;
}

// sin of r + quadrant pi/2.
[[gnu::always_inline]] inline float sine_of(double r, uint32_t quadrant) {
  const double s = r * r;
  double a = -1.0 / 39916800.0;
  a = __builtin_fma(a, s, 1.0 / 362880.0);
  a = __builtin_fma(a, s, -1.0 / 5040.0);
  a = __builtin_fma(a, s, 1.0 / 120.0);
  a = __builtin_fma(a, s, -1.0 / 6.0);
  const double sine = __builtin_fma(a * s, r, r);
  double b = 1.0 / 479001600.0;
  b = __builtin_fma(b, s, -1.0 / 3628800.0);
  b = __builtin_fma(b, s, 1.0 / 40320.0);
  b = __builtin_fma(b, s, -1.0 / 720.0);
  b = __builtin_fma(b, s, 1.0 / 24.0);
  b = __builtin_fma(b, s, -0.5);
  const double cosine = __builtin_fma(b, s, 1.0);
  const double y = quadrant & 1u ? cosine : sine;
  return static_cast<float>(quadrant & 2u ? -y : y);
}

template <bool cosine, bool ftz>
void sine(Warp& warp, const Op& op, uint32_t mask) {
  const float* a = warp.reg<float>(op.a);
  alignas(32) float x[kLanes];
  alignas(32) float result[kLanes];
  for (int i = 0; i < kLanes; ++i) x[i] = flush_if<ftz>(a[i]);
  for (int i = 0; i < kLanes; ++i) {
    // k <= 2^20: its products with the 33-bit parts of pi/2 are exact.
    const double d = static_cast<double>(x[i]);
    const double shifted = __builtin_fma(d, 0.63661977236758134308, 6755399441055744.0);
    const double k = shifted - 6755399441055744.0;
    double r = __builtin_fma(k, -0x1.921fb544p+0, d);
    r = __builtin_fma(k, -0x1.0b4611a6p-34, r);
    r = __builtin_fma(k, -0x1.3198a2e037073p-69, r);
    const auto quadrant = static_cast<uint32_t>(bits_of_double(shifted)) + (cosine ? 1u : 0u);
    result[i] = sine_of(r, quadrant);
  }
  const uint32_t large =
      lanes_where<uint32_t>([&](int i) { return !(x[i] < 0x1p20f) | !(x[i] > -0x1p20f); });
  for (uint32_t rest = large; rest; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    if ((bits_of_float(x[i]) & 0x7f800000u) == 0x7f800000u) {
      result[i] = float_of(kCanonicalNan);  // infinities and NaN
      continue;
    }
    const Reduced reduced = reduce_large(x[i]);
    result[i] = sine_of(reduced.r, reduced.quadrant + (cosine ? 1u : 0u));
  }
  for_lanes<float, false>(warp, op.dst, mask, [&](int i) {
    // -0 stays -0: the fused products above lose it.
    const float y = !cosine && x[i] == 0.0f ? x[i] : result[i];
    return flush_if<ftz>(y);
  });
}

// ---- rcp, rsqrt, sqrt, div, tanh
// -----------------------------------------------------------------
template <bool ftz>
constexpr auto kRcp = [](float x) { return flush_if<ftz>(canonical(1.0f / flush_if<ftz>(x))); };
template <bool ftz>
constexpr auto kSqrt =
    [](float x) { return flush_if<ftz>(canonical(__builtin_sqrtf(flush_if<ftz>(x)))); };
template <bool ftz>
constexpr auto kRsqrt = [](float x) {
  const double d = static_cast<double>(flush_if<ftz>(x));
  return canonical(static_cast<float>(1.0 / __builtin_sqrt(d)));
};
constexpr auto kRsqrtDouble = [](double x) { return 1.0 / __builtin_sqrt(x); };
// The f64 "gross approximations" see and give only the upper word.
template <bool rsqrt>
constexpr auto kUpperWord = [](uint64_t bits) {
  constexpr uint64_t kUpper = 0xffffffff00000000ull, kSign = 0x8000000000000000ull;
  const auto flushed = [](uint64_t b) { return (b & 0x7ff0000000000000ull) == 0 ? b & kSign : b; };
  const double x = double_of(flushed(bits & kUpper));
  const double y = rsqrt ? 1.0 / __builtin_sqrt(x) : 1.0 / x;
  return y != y ? 0x7fffffff00000000ull : flushed(bits_of_double(y) & kUpper);
};
// The manual promises a relative error of 2^-11 and the hardware uses it. An exact value would call
// a kernel accurate to f32 that is not so on a GPU: twelve bits of the significand are kept.
[[gnu::always_inline]] inline float twelve_bits(float y) {
  const uint32_t bits = bits_of_float(y);
  const uint32_t rounded = (bits + 0x7ffu + ((bits >> 12) & 1u)) & ~0xfffu;
  const uint32_t magnitude = bits & 0x7fffffffu;
  return float_of(magnitude < 0x00800000u || magnitude > 0x7f800000u ? bits : rounded);
}
template <bool ftz>
constexpr auto kTanh =
    [](float x) { return flush_if<ftz>(twelve_bits(tanh_float(flush_if<ftz>(x)))); };

template <bool ftz>
constexpr auto kDivFull =
    [](float a, float b) { return flush_if<ftz>(canonical(flush_if<ftz>(a) / flush_if<ftz>(b))); };
// a * (1/b), whose reciprocal underflows for |b| > 2^126: the result is 0, or NaN for infinite a.
template <bool ftz>
constexpr auto kDivApprox = [](float a, float b) {
  a = flush_if<ftz>(a);
  b = flush_if<ftz>(b);
  const float magnitude = float_of(bits_of_float(b) & 0x7fffffffu);
  const bool huge = (magnitude > 0x1p126f) & (bits_of_float(magnitude) < 0x7f800000u);
  const float sign = float_of(bits_of_float(b) & 0x80000000u);  // +0 or -0
  return flush_if<ftz>(canonical(huge ? a * sign : a / b));
};

#define FIEL_BY_FTZ(F) run(m.ftz ? unary<float, F<true>> : unary<float, F<false>>)

Selection select_root(const Instruction& in) {
  const Modifiers& m = in.mods;
  const bool wide = m.types[0] == Type::f64;
  switch (in.op) {
    case Opcode::rcp:
      if (!m.approx) return {};
      if (!wide) return FIEL_BY_FTZ(kRcp);
      if (!m.ftz) return refuse("rcp.approx.f64 exists with .ftz only");
      return run(unary<uint64_t, kUpperWord<false>>);
    case Opcode::rsqrt:
      if (!wide) return FIEL_BY_FTZ(kRsqrt);
      return m.ftz ? run(unary<uint64_t, kUpperWord<true>>) : run(unary<double, kRsqrtDouble>);
    default:
      if (!m.approx || wide) return {};
      return FIEL_BY_FTZ(kSqrt);
  }
}

}  // namespace

Selection select_special(const Instruction& in, const OperandWidths&) {
  const Modifiers& m = in.mods;
  if (in.op == Opcode::rcp || in.op == Opcode::rsqrt || in.op == Opcode::sqrt)
    return select_root(in);
  if (m.types[0] != Type::f32) return {};
  switch (in.op) {
    case Opcode::ex2:
      return FIEL_BY_FTZ(kEx2);
    case Opcode::lg2:
      return FIEL_BY_FTZ(kLg2);
    case Opcode::sin:
      return run(m.ftz ? sine<false, true> : sine<false, false>);
    case Opcode::cos:
      return run(m.ftz ? sine<true, true> : sine<true, false>);
    case Opcode::tanh:
      return FIEL_BY_FTZ(kTanh);
    case Opcode::div:
      if (m.approx)
        return run(m.ftz ? binary<float, kDivApprox<true>> : binary<float, kDivApprox<false>>);
      if (m.full)
        return run(m.ftz ? binary<float, kDivFull<true>> : binary<float, kDivFull<false>>);
      return {};
    default:
      return {};
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
