#include "judge/rate.h"

#include <algorithm>
#include <cmath>

namespace fiel::judge {
namespace {

constexpr double kZ = 1.959963984540054;  // the 97.5 % quantile of the normal distribution

}  // namespace

Rate wilson(uint64_t count, uint64_t of) {
  if (of == 0) return {0, 0, 0, 1};
  const auto n = static_cast<double>(of);
  const double p = static_cast<double>(count) / n, z2 = kZ * kZ;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  const double low = count == 0 ? 0 : std::max(0.0, centre - half);
  const double high = count == of ? 1 : std::min(1.0, centre + half);
  return {count, of, low, high};
}

Json to_json(const Rate& r) {
  return Json::object({{"count", r.count}, {"of", r.of}, {"low", r.low}, {"high", r.high}});
}

}  // namespace fiel::judge
