#include "graph/special_functions.h"

#include <math.h>  // lgamma_r is POSIX, not in <cmath>

#include <cmath>
#include <limits>

namespace fiel::graph {

double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

double inverse_erf(double x) {
  const double size = std::fabs(x);
  if (!(size < 1))
    return size == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : NAN;
  if (size == 0) return x;
  // Winitzki's closed form is right to 2e-3 (its own difference cancels near 0, where y is linear);
  // each of Halley's steps has three times the digits of the one before.
  constexpr double kA = 0.147;
  const double log_of = std::log1p(-size * size), half = 2 / (M_PI * kA) + log_of / 2;
  double y =
      size < 0.01 ? size / M_2_SQRTPI : std::sqrt(std::sqrt(half * half - log_of / kA) - half);
  for (int i = 0; i < 3; ++i) {
    // 1 - size is exact from 0.5 on, and erfc keeps the digits that erf has no room for.
    const double off = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const double step = off / (M_2_SQRTPI * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (std::isnan(x) || x == -std::numeric_limits<double>::infinity()) return NAN;
  if (x < 0) {
    double whole = 0, fraction = std::modf(x, &whole);
    if (fraction == 0) return NAN;
    return digamma(1 - x) - M_PI / std::tan(M_PI * fraction);  // reflection
  }
  // Upwards by recurrence to 12, where the asymptotic series ends below 1 ulp.
  double result = 0;
  while (x < 12) {
    result -= 1 / x;
    x += 1;
  }
  if (std::isinf(x)) return x;
  double z = 1 / (x * x);
  double series =
      z * (1.0 / 12 -
           z * (1.0 / 120 -
                z * (1.0 / 252 -
                     z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
  return result + std::log(x) - 0.5 / x - series;
}

}  // namespace fiel::graph
