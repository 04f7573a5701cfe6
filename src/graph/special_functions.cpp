#include "graph/special_functions.h"

#include <math.h>  // lgamma_r is POSIX, not in <cmath>

#include <cmath>
#include <limits>

namespace fiel::graph {

double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
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
