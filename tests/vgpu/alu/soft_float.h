// Binary floating point from integers alone: the independent side of the comparison with the
// virtual GPU's handlers. No host floating-point operation is used.
//
//   Soft a = decode(bits, kF32), b = …;
//   uint64_t sum = encode(add(a, b, Mode::nearest), kF32, Mode::nearest);
//
// A finite value is mantissa * 2^exponent with a sticky flag for what fell off below. Not fast.
#pragma once

#include <cstdint>

namespace fiel::vgpu::model {

using u128 = unsigned __int128;

struct Format {
  int precision;  // with the hidden bit
  int min_exponent, max_exponent;
  int bits;
  uint64_t nan;  // canonical
};
inline constexpr Format kF16 = {11, -14, 15, 16, 0x7fff};
inline constexpr Format kBf16 = {8, -126, 127, 16, 0x7fff};
inline constexpr Format kF32 = {24, -126, 127, 32, 0x7fffffff};
inline constexpr Format kF64 = {53, -1022, 1023, 64, 0x7fffffffffffffffull};
inline constexpr Format kTf32 = {11, -126, 127, 19, 0x3ffff};

enum class Mode : uint8_t { nearest, away, zero, down, up };

struct Soft {
  enum class Kind : uint8_t { finite, infinite, nan } kind = Kind::finite;
  bool negative = false;
  u128 mantissa = 0;
  int exponent = 0;
  bool sticky = false;  // the true magnitude is a little larger

  bool nan() const { return kind == Kind::nan; }
  bool infinite() const { return kind == Kind::infinite; }
  bool zero() const { return kind == Kind::finite && mantissa == 0 && !sticky; }
};

inline int top_bit(u128 x) {  // -1 for 0
  const auto high = static_cast<uint64_t>(x >> 64), low = static_cast<uint64_t>(x);
  return high ? 127 - __builtin_clzll(high) : low ? 63 - __builtin_clzll(low) : -1;
}

inline Soft make_nan() {
  Soft s;
  s.kind = Soft::Kind::nan;
  return s;
}
inline Soft make_infinity(bool negative) {
  Soft s;
  s.kind = Soft::Kind::infinite;
  s.negative = negative;
  return s;
}
inline Soft from_magnitude(bool negative, u128 mantissa, int exponent = 0) {
  Soft s;
  s.negative = negative;
  s.mantissa = mantissa;
  s.exponent = exponent;
  return s;
}

inline Soft decode(uint64_t bits, const Format& f) {
  const int stored = f.precision - 1;
  const uint64_t fraction = bits & ((uint64_t{1} << stored) - 1);
  const int exponent_bits = f.bits - 1 - stored;
  const auto biased = static_cast<int>(bits >> stored & ((uint64_t{1} << exponent_bits) - 1));
  const bool negative = bits >> (f.bits - 1) & 1u;
  if (biased == (1 << exponent_bits) - 1) return fraction ? make_nan() : make_infinity(negative);
  if (biased == 0) return from_magnitude(negative, fraction, f.min_exponent - stored);
  return from_magnitude(negative, fraction | uint64_t{1} << stored,
                        biased - 1 + f.min_exponent - stored);
}

/// mantissa * 2^exponent rounded to a multiple of 2^quantum: the quotient.
inline u128 round_to_multiple(const Soft& x, int quantum, Mode mode) {
  const int drop = quantum - x.exponent;
  if (drop <= 0) return x.mantissa << -drop;  // callers keep this in range
  u128 quotient = drop > 127 ? 0 : x.mantissa >> drop;
  const u128 rest = drop > 127 ? x.mantissa : x.mantissa - (quotient << drop);
  const u128 half = drop > 127 ? ~u128{0} : u128{1} << (drop - 1);
  const bool inexact = rest != 0 || x.sticky;
  bool up = false;
  switch (mode) {
    case Mode::nearest:
      up = drop <= 127 && (rest > half || (rest == half && (x.sticky || (quotient & 1u))));
      break;
    case Mode::away:
      up = drop <= 127 && rest >= half;
      break;
    case Mode::zero:
      break;
    case Mode::down:
      up = inexact && x.negative;
      break;
    case Mode::up:
      up = inexact && !x.negative;
      break;
  }
  return quotient + (up ? 1 : 0);
}

/// The value's bits in format f, rounded once; overflow as IEEE 754 says for the mode.
inline uint64_t encode(const Soft& x, const Format& f, Mode mode) {
  const int stored = f.precision - 1;
  const uint64_t sign = static_cast<uint64_t>(x.negative) << (f.bits - 1);
  const uint64_t infinity = static_cast<uint64_t>(f.max_exponent - f.min_exponent + 2) << stored;
  if (x.nan()) return f.nan;
  if (x.infinite()) return sign | infinity;
  if (x.zero()) return sign;
  const int top = x.mantissa == 0 ? x.exponent : top_bit(x.mantissa) + x.exponent;
  int exponent = top < f.min_exponent ? f.min_exponent : top;
  u128 q = round_to_multiple(x, exponent - stored, mode);
  if (q >> f.precision) {
    q >>= 1;
    ++exponent;
  }
  if (exponent > f.max_exponent) {
    const bool to_infinity = mode == Mode::nearest || mode == Mode::away ||
                             (mode == Mode::up && !x.negative) ||
                             (mode == Mode::down && x.negative);
    return sign | (to_infinity ? infinity : infinity - 1);
  }
  const auto mantissa = static_cast<uint64_t>(q);
  if (!(mantissa >> stored)) return sign | mantissa;  // subnormal
  return sign | static_cast<uint64_t>(exponent - f.min_exponent + 1) << stored |
         (mantissa & ((uint64_t{1} << stored) - 1));
}

/// Moves the top bit to position 125, dropping nothing that matters.
inline void normalize(Soft& x) {
  const int shift = 125 - top_bit(x.mantissa);
  if (x.mantissa == 0) return;
  if (shift >= 0) {
    x.mantissa <<= shift;
  } else {
    x.sticky |= (x.mantissa & ((u128{1} << -shift) - 1)) != 0;
    x.mantissa >>= -shift;
  }
  x.exponent -= shift;
}

inline Soft add(Soft a, Soft b, Mode mode) {
  if (a.nan() || b.nan()) return make_nan();
  if (a.infinite() || b.infinite()) {
    if (a.infinite() && b.infinite() && a.negative != b.negative) return make_nan();
    return a.infinite() ? a : b;
  }
  if (a.zero() && b.zero()) {
    a.negative = a.negative == b.negative ? a.negative : mode == Mode::down;
    return a;
  }
  if (a.zero()) return b;
  if (b.zero()) return a;
  normalize(a);
  normalize(b);
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.mantissa < b.mantissa)) {
    const Soft t = a;
    a = b;
    b = t;
  }
  const int shift = a.exponent - b.exponent;
  bool sticky = false;
  if (shift > 126) {
    sticky = true;
    b.mantissa = 0;
  } else {
    sticky = (b.mantissa & ((u128{1} << shift) - 1)) != 0;
    b.mantissa >>= shift;
  }
  Soft r = a;
  r.sticky = sticky;
  if (a.negative == b.negative) {
    r.mantissa = a.mantissa + b.mantissa;
  } else {
    r.mantissa = a.mantissa - b.mantissa - (sticky ? 1 : 0);
    if (r.mantissa == 0 && !sticky) r.negative = mode == Mode::down;
  }
  return r;
}
inline Soft negate(Soft a) {
  a.negative = !a.negative;
  return a;
}
inline Soft multiply(const Soft& a, const Soft& b) {  // exact for up to 63-bit mantissas
  if (a.nan() || b.nan()) return make_nan();
  const bool negative = a.negative != b.negative;
  if (a.infinite() || b.infinite()) {
    if (a.zero() || b.zero()) return make_nan();
    return make_infinity(negative);
  }
  return from_magnitude(negative, a.mantissa * b.mantissa, a.exponent + b.exponent);
}
inline Soft divide(const Soft& a, const Soft& b) {
  if (a.nan() || b.nan()) return make_nan();
  const bool negative = a.negative != b.negative;
  if (a.infinite()) return b.infinite() ? make_nan() : make_infinity(negative);
  if (b.infinite()) return from_magnitude(negative, 0);
  if (b.zero()) return a.zero() ? make_nan() : make_infinity(negative);
  if (a.zero()) return from_magnitude(negative, 0);
  Soft n = a, d = b;
  const int up_n = 127 - top_bit(n.mantissa), down_d = 62 - top_bit(d.mantissa);
  n.mantissa <<= up_n;  // 128 bits over 63 bits: at least 64 bits of quotient
  n.exponent -= up_n;
  d.mantissa <<= down_d;
  d.exponent -= down_d;
  Soft r = from_magnitude(negative, n.mantissa / d.mantissa, n.exponent - d.exponent);
  r.sticky = n.mantissa % d.mantissa != 0;
  return r;
}
inline Soft square_root(const Soft& a) {
  if (a.nan()) return make_nan();
  if (a.zero()) return a;
  if (a.negative) return make_nan();
  if (a.infinite()) return a;
  Soft n = a;
  int up = 126 - top_bit(n.mantissa);
  if ((n.exponent - up) & 1) --up;
  n.mantissa <<= up;
  n.exponent -= up;
  u128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const u128 trial = root | u128{1} << bit;
    if (trial * trial <= n.mantissa) root = trial;
  }
  Soft r = from_magnitude(false, root, n.exponent / 2);
  r.sticky = root * root != n.mantissa;
  return r;
}

/// -1, 0, 1; 2 when unordered.
inline int compare(const Soft& a, const Soft& b) {
  if (a.nan() || b.nan()) return 2;
  if (a.zero() && b.zero()) return 0;
  if (a.zero()) return b.negative ? 1 : -1;
  if (b.zero()) return a.negative ? -1 : 1;
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int magnitude = 0;
  if (a.infinite() || b.infinite()) {
    magnitude = a.infinite() && b.infinite() ? 0 : a.infinite() ? 1 : -1;
  } else {
    Soft x = a, y = b;
    normalize(x);
    normalize(y);
    magnitude = x.exponent != y.exponent   ? (x.exponent > y.exponent ? 1 : -1)
                : x.mantissa != y.mantissa ? (x.mantissa > y.mantissa ? 1 : -1)
                                           : 0;
  }
  return a.negative ? -magnitude : magnitude;
}

/// Rounded to an integral value (still a Soft).
inline Soft integral(const Soft& a, Mode mode) {
  if (a.nan() || a.infinite() || a.zero() || a.exponent >= 0) return a;
  Soft r = from_magnitude(a.negative, round_to_multiple(a, 0, mode), 0);
  return r;
}

}  // namespace fiel::vgpu::model
