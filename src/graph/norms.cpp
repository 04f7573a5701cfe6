#include "graph/norms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/sum.h"

namespace fiel::graph {

double p_norm(const double* x, int64_t n, double p) {
  if (std::isinf(p)) {
    double extreme = p > 0 ? 0 : std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; ++i) {
      double v = std::fabs(x[i]);
      if (std::isnan(v)) return v;
      extreme = p > 0 ? std::max(extreme, v) : std::min(extreme, v);
    }
    return extreme;
  }
  if (p == 0) return sum_over(0, n, [x](int64_t i) { return x[i] != 0 ? 1.0 : 0.0; });
  if (p == 1) return sum_over(0, n, [x](int64_t i) { return std::fabs(x[i]); });
  if (p == 2) return std::sqrt(sum_over(0, n, [x](int64_t i) { return x[i] * x[i]; }));
  return std::pow(sum_over(0, n, [x, p](int64_t i) { return std::pow(std::fabs(x[i]), p); }),
                  1 / p);
}

}  // namespace fiel::graph
