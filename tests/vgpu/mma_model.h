// A scalar model of sm_90's mma.sync, written from the rule and PTX's fragment tables, sharing
// nothing with src/vgpu: what the handlers are compared with.
//
//   mma_model::Result d = mma_model::multiply(form, operands);   // d.d[register][lane]
//
// Slow and plain: 128-bit integers, one term at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "h200/mma_cases.h"

namespace mma_model {

using mma_cases::El;
using mma_cases::Form;
using mma_cases::Operands;

struct Result {
  uint64_t d[4][32] = {};
};

// (row, column) of element i of A, B and C held by a lane, as PTX ISA "Matrix Fragments for
// mma.m16n8k…" gives them for each type; i counts elements over all registers of a lane.
struct Place {
  int row, column;
};
inline Place place_a(const Form& f, int lane, int i) {
  const int group = lane >> 2, thread = lane & 3;
  switch (mma_cases::bits_of(f.a)) {
    case 16:  // a0,a1,a4,a5: group; others group+8. Columns thread*2+(i&1), +8 from i=4
      return {(i / 2) % 2 == 0 ? group : group + 8, thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    case 32:  // tf32
      return {i % 2 == 0 ? group : group + 8, i < 2 ? thread : thread + 4};
    case 8:
      if (f.m == 8) return {group, thread * 4 + i};
      return {(i / 4) % 2 == 0 ? group : group + 8, thread * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
    case 4:
      if (f.m == 8) return {group, thread * 8 + i};
      return {(i / 8) % 2 == 0 ? group : group + 8, thread * 8 + (i & 7) + (i >= 16 ? 32 : 0)};
    case 1:
      if (f.m == 8) return {group, thread * 32 + i};
      return {(i / 32) % 2 == 0 ? group : group + 8, thread * 32 + (i & 31) + (i >= 64 ? 128 : 0)};
    default:  // f64
      if (f.m == 8) return {group, thread};
      return {i % 2 == 0 ? group : group + 8, i / 2 * 4 + thread};
  }
}
inline Place place_b(const Form& f, int lane, int i) {
  const int group = lane >> 2, thread = lane & 3;
  switch (mma_cases::bits_of(f.b)) {
    case 16:
      return {thread * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
    case 32:
      return {i == 0 ? thread : thread + 4, group};
    case 8:
      return {thread * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
    case 4:
      return {thread * 8 + (i & 7) + (i >= 8 ? 32 : 0), group};
    case 1:
      return {thread * 32 + (i & 31) + (i >= 32 ? 128 : 0), group};
    default:
      return {thread + i * 4, group};
  }
}
inline Place place_c(const Form&, int lane, int i) {
  const int group = lane >> 2, thread = lane & 3;
  return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

/// Element i of a lane's registers, as raw bits.
inline uint64_t element_bits(const uint64_t (*regs)[32], int lane, int i, int bits) {
  if (bits >= 32) return regs[i][lane];
  const int per = 32 / bits;
  return regs[i / per][lane] >> (i % per * bits) & ((uint64_t{1} << bits) - 1);
}

/// A finite number significand · 2^(exponent - fraction_bits), or a special one.
struct Number {
  bool nan = false, infinite = false, negative = false;
  int64_t significand = 0;  // magnitude
  int exponent = 0;
  int fraction_bits = 0;
};
inline Number decode(El t, uint64_t bits) {
  if (t == El::tf32) bits &= ~uint64_t{0x1fff};
  const mma_cases::FloatFormat f = mma_cases::format_of(t);
  Number x;
  x.fraction_bits = f.fraction_bits;
  x.negative = (bits >> (f.exponent_bits + f.fraction_bits) & 1) != 0;
  const int biased = static_cast<int>(bits >> f.fraction_bits & ((1 << f.exponent_bits) - 1));
  const int64_t fraction = static_cast<int64_t>(bits & ((uint64_t{1} << f.fraction_bits) - 1));
  const bool top = biased == (1 << f.exponent_bits) - 1;
  if (t == El::e4m3 ? top && fraction == 7 : top) {
    x.nan = t == El::e4m3 || fraction != 0;
    x.infinite = !x.nan;
    return x;
  }
  x.significand = biased == 0 ? fraction : fraction | int64_t{1} << f.fraction_bits;
  x.exponent = biased == 0 ? f.smallest() : biased - f.bias();
  return x;
}

/// fp8 reaches the multiplier as f16, where its subnormals are normal.
inline Number as_f16(Number x) {
  if (x.nan || x.infinite || x.significand == 0) return x;
  const int shift = 10 - x.fraction_bits;
  x.significand <<= shift;
  x.fraction_bits = 10;
  while (x.significand < 1024 && x.exponent > -14) {
    x.significand <<= 1;
    --x.exponent;
  }
  return x;
}

/// Rounds s · 2^e to f32, towards zero.
inline uint32_t to_f32_truncated(__int128 s, int e) {
  const uint32_t sign = s < 0 ? 0x80000000u : 0;
  unsigned __int128 magnitude = static_cast<unsigned __int128>(s < 0 ? -s : s);
  if (magnitude == 0) return 0;
  while (magnitude >= (1u << 24)) magnitude >>= 1, ++e;
  while (magnitude < (1u << 23) && e > -149) magnitude <<= 1, --e;
  while (e < -149 && magnitude != 0) magnitude >>= 1, ++e;
  if (magnitude == 0) return 0;
  if (magnitude < (1u << 23)) return sign | static_cast<uint32_t>(magnitude);
  const int biased = e + 23 + 127;
  if (biased >= 255) return sign | 0x7f800000u;
  return sign | static_cast<uint32_t>(biased) << 23 | (static_cast<uint32_t>(magnitude) & 0x7fffff);
}
/// Rounds s · 2^e to f16, to nearest, ties to even.
inline uint32_t to_f16_nearest(__int128 s, int e) {
  const uint32_t sign = s < 0 ? 0x8000u : 0;
  unsigned __int128 magnitude = static_cast<unsigned __int128>(s < 0 ? -s : s);
  if (magnitude == 0) return 0;
  int top = 0;  // magnitude in [2^top, 2^(top+1))
  while (magnitude >> (top + 1) != 0) ++top;
  const int unit = top + e < -14 ? -24 : top + e - 10;  // weight of the last place
  unsigned __int128 q = magnitude;
  if (unit <= e) {
    q <<= e - unit;
  } else if (unit - e > 120) {
    q = 0;
  } else {
    const unsigned __int128 rest =
        magnitude & ((static_cast<unsigned __int128>(1) << (unit - e)) - 1);
    const unsigned __int128 half = static_cast<unsigned __int128>(1) << (unit - e - 1);
    q = magnitude >> (unit - e);
    if (rest > half || (rest == half && (q & 1) != 0)) ++q;
  }
  if (q == 0) return 0;
  if (unit == -24) return sign | static_cast<uint32_t>(q);  // a carry into 1024 is the first normal
  uint32_t bits = static_cast<uint32_t>(unit + 10 + 14) << 10;
  bits += static_cast<uint32_t>(q);  // its leading 1024 adds the last step of the exponent
  return sign | (bits >= 0x7c00u ? 0x7c00u : bits);
}

inline uint64_t fused(const std::vector<Number>& a, const std::vector<Number>& b, const Number& c,
                      bool f16_result) {
  bool nan = c.nan, plus = c.infinite && !c.negative, minus = c.infinite && c.negative;
  int largest = -133;
  if (c.significand != 0) largest = std::max(largest, c.exponent);
  for (size_t i = 0; i < a.size(); ++i) {
    nan |= a[i].nan || b[i].nan;
    if (a[i].infinite || b[i].infinite) {
      const Number& other = a[i].infinite ? b[i] : a[i];
      if (!other.infinite && other.significand == 0) nan = true;
      (a[i].negative != b[i].negative ? minus : plus) = true;
    }
    if (a[i].significand != 0 && b[i].significand != 0) {
      largest = std::max(largest, a[i].exponent + b[i].exponent);
    }
  }
  if (nan || (plus && minus)) return f16_result ? 0x7fff : 0x7fffffff;
  if (plus || minus)
    return (f16_result ? 0x7c00u : 0x7f800000u) | (minus ? f16_result ? 0x8000u : 0x80000000u : 0u);
  __int128 sum = 0;
  const auto add = [&](__int128 magnitude, int fraction_bits, int exponent, bool negative) {
    // magnitude · 2^(exponent - fraction_bits), in units of 2^(largest - 25)
    const int down = largest - exponent;
    const __int128 term =
        magnitude == 0 || down > 100 ? 0 : (magnitude << 25 >> fraction_bits) >> down;
    sum += negative ? -term : term;
  };
  add(c.significand, c.fraction_bits, c.exponent, c.negative);
  for (size_t i = 0; i < a.size(); ++i) {
    add(static_cast<__int128>(a[i].significand) * b[i].significand,
        a[i].fraction_bits + b[i].fraction_bits, a[i].exponent + b[i].exponent,
        a[i].negative != b[i].negative);
  }
  return f16_result ? to_f16_nearest(sum, largest - 25) : to_f32_truncated(sum, largest - 25);
}

inline float f32_of(uint64_t bits) {
  const uint32_t low = static_cast<uint32_t>(bits);
  float x;
  std::memcpy(&x, &low, 4);
  return x;
}
inline uint64_t bits_of_f32(float x) {
  if (std::isnan(x)) return 0x7fffffff;
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
/// The exact value of a finite f16.
inline double f16_value(uint64_t bits) {
  const Number x = decode(El::f16, bits);
  const double magnitude = std::ldexp(static_cast<double>(x.significand), x.exponent - 10);
  return x.negative ? -magnitude : magnitude;
}
inline uint64_t add_f16(uint64_t x, uint64_t y) {
  const Number a = decode(El::f16, x), b = decode(El::f16, y);
  if (a.nan || b.nan || (a.infinite && b.infinite && a.negative != b.negative)) return 0x7fff;
  if (a.infinite) return x;
  if (b.infinite) return y;
  const double sum = f16_value(x) + f16_value(y);  // exact in f64
  if (sum == 0)
    return (x & y & 0x8000) | (a.significand == 0 && b.significand == 0 ? x & y & 0x8000 : 0);
  return to_f16_nearest(static_cast<__int128>(std::ldexp(sum, 24)), -24);
}

inline uint64_t dot_float(const Form& f, const std::vector<uint64_t>& a,
                          const std::vector<uint64_t>& b, uint64_t c) {
  const bool f16 = f.c == El::f16;
  if (mma_cases::bits_of(f.a) != 8) {
    std::vector<Number> x, y;
    for (int k = 0; k < f.k; ++k) x.push_back(decode(f.a, a[k])), y.push_back(decode(f.b, b[k]));
    return fused(x, y, decode(f.c, c), f16);
  }
  uint64_t partial = 0;
  for (int half = 0; half < 2; ++half) {
    std::vector<Number> x, y;
    for (int k = 0; k < f.k; ++k) {
      if ((k & 3) / 2 != half) continue;
      x.push_back(as_f16(decode(f.a, a[k])));
      y.push_back(as_f16(decode(f.b, b[k])));
    }
    partial = fused(x, y, decode(f.c, partial), f16);
  }
  return f16 ? add_f16(c, partial) : bits_of_f32(f32_of(c) + f32_of(partial));
}

inline int64_t integer_of(El t, uint64_t bits) {
  switch (t) {
    case El::s8:
      return static_cast<int8_t>(bits);
    case El::s4:
      return (static_cast<int64_t>(bits) ^ 8) - 8;
    default:
      return static_cast<int64_t>(bits);
  }
}
inline uint64_t dot_integer(const Form& f, const std::vector<uint64_t>& a,
                            const std::vector<uint64_t>& b, uint64_t c) {
  int64_t sum = static_cast<int32_t>(c);
  for (int k = 0; k < f.k; ++k) {
    if (f.a == El::b1) {
      sum += static_cast<int64_t>(f.and_popc ? a[k] & b[k] : a[k] ^ b[k]);
    } else {
      sum += integer_of(f.a, a[k]) * integer_of(f.b, b[k]);
    }
  }
  if (f.satfinite) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
  return static_cast<uint32_t>(sum);
}
inline uint64_t dot_f64(const Form& f, const std::vector<uint64_t>& a,
                        const std::vector<uint64_t>& b, uint64_t c) {
  const auto value = [](uint64_t bits) {
    double v;
    std::memcpy(&v, &bits, 8);
    return v;
  };
  uint64_t acc = c;
  for (int k = 0; k < f.k; ++k) {
    uint64_t nan = 0;
    for (const uint64_t operand : {a[k], acc, b[k]}) {  // the last NaN wins
      if (std::isnan(value(operand))) nan = operand | uint64_t{1} << 51;
    }
    const double sum = std::fma(value(a[k]), value(b[k]), value(acc));
    std::memcpy(&acc, &sum, 8);
    if (std::isnan(sum)) acc = nan != 0 ? nan : 0xfff8000000000000u;
  }
  return acc;
}

inline Result multiply(const Form& f, const Operands& x) {
  std::vector<std::vector<uint64_t>> a(16, std::vector<uint64_t>(256)),
      b(8, std::vector<uint64_t>(256));
  uint64_t c[16][8] = {};
  const int wa = mma_cases::bits_of(f.a), wb = mma_cases::bits_of(f.b);
  const int wc = mma_cases::bits_of(f.c);
  const int count_a = f.m * f.k / 32, count_b = f.k * 8 / 32, count_c = f.m * 8 / 32;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < count_a; ++i) {
      const Place p = place_a(f, lane, i);
      a[p.row][p.column] = element_bits(x.a, lane, i, wa);
    }
    for (int i = 0; i < count_b; ++i) {
      const Place p = place_b(f, lane, i);
      b[p.column][p.row] = element_bits(x.b, lane, i, wb);
    }
    for (int i = 0; i < count_c; ++i) {
      const Place p = place_c(f, lane, i);
      c[p.row][p.column] = element_bits(x.c, lane, i, wc);
    }
  }
  Result d;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < count_c; ++i) {
      const Place p = place_c(f, lane, i);
      uint64_t value;
      if (f.a == El::f64) {
        value = dot_f64(f, a[p.row], b[p.column], c[p.row][p.column]);
      } else if (mma_cases::is_integer(f.a)) {
        value = dot_integer(f, a[p.row], b[p.column], c[p.row][p.column]);
      } else {
        value = dot_float(f, a[p.row], b[p.column], c[p.row][p.column]);
      }
      if (wc == 16) {
        d.d[i / 2][lane] |= value << (16 * (i % 2));
      } else {
        d.d[i][lane] = value;
      }
    }
  }
  return d;
}

}  // namespace mma_model
