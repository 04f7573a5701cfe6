// log, exp2 and the normal deviate by plain IEEE arithmetic. Private to tensor/.
//
// The C library's versions differ in the last bit between releases and between CPUs with and
// without FMA; a seed must give the same tensor everywhere. Good to about 1e-15 relative.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fiel::detail {

/// Natural logarithm of a normal positive number: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and
/// log m = 2 atanh((m - 1) / (m + 1)), whose series ends below 2^-53 after ten terms.
inline double log_of(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  auto e = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) | uint64_t{1023} << 52);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  const double z = (m - 1) / (m + 1), z2 = z * z;
  double sum = 0;
  for (int k = 19; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;
  return static_cast<double>(e) * 0.6931471805599453 + 2 * z * sum;
}

/// 2^x for |x| <= 1000: the whole part goes into the exponent, the rest through exp's series.
inline double exp2_of(double x) {
  const double whole = std::floor(x + 0.5);
  const double r = (x - whole) * 0.6931471805599453;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = sum * r * (1.0 / k) + 1;
  return sum *
         std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(whole) + 1023) << 52);
}

/// cos(2 pi turn / 2^64): the quarter turn is read off the top bits, exactly, and the remaining
/// angle lies within pi/4 of an axis.
inline double cos_of_turn(uint64_t turn) {
  const uint64_t octant = turn + (uint64_t{1} << 61);  // round to the nearest axis
  const auto axis = static_cast<uint32_t>(octant >> 62);
  const auto rest = static_cast<int64_t>(turn - (uint64_t{axis} << 62));
  const double x = static_cast<double>(rest) * (6.283185307179586 * 0x1p-64), x2 = x * x;
  double c = 1, s = 1;
  for (int k = 16; k >= 2; k -= 2) c = 1 - c * x2 * (1.0 / (k * (k - 1)));
  for (int k = 17; k >= 3; k -= 2) s = 1 - s * x2 * (1.0 / (k * (k - 1)));
  s *= x;
  switch (axis) {
    case 0:
      return c;
    case 1:
      return -s;
    case 2:
      return -c;
    default:
      return s;
  }
}

/// Box and Muller: a standard normal from u in (0, 1) and 64 random bits.
inline double normal_of(double u, uint64_t turn) {
  return std::sqrt(-2 * log_of(u)) * cos_of_turn(turn);
}

}  // namespace fiel::detail
