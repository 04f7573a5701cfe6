#include "judge/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fiel::judge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The largest k with P(fewer than k of n fair coins) <= tail: x(k) .. x(n + 1 - k) is the
/// interval.
size_t rank_below(size_t n, double tail) {
  double log_choose = 0, sum = 0;
  size_t k = 0;
  for (; k <= n / 2; ++k) {
    sum += std::exp(log_choose - static_cast<double>(n) * std::log(2.0));
    if (sum > tail) break;
    log_choose += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
  }
  return k;
}

double autocovariance(std::span<const double> centred, size_t lag) {
  double sum = 0;
  for (size_t i = 0; i + lag < centred.size(); ++i) sum += centred[i] * centred[i + lag];
  return sum / static_cast<double>(centred.size());
}

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

double quantile_of_sorted(const std::vector<double>& values, double p) {
  if (values.empty()) return 0;
  const double at = p * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double share = at - static_cast<double>(below);
  return values[below] + share * (values[above] - values[below]);
}

}  // namespace

bool Interval::bounded() const { return std::isfinite(low) && std::isfinite(high); }

double quantile(std::span<const double> values, double p) {
  return quantile_of_sorted(sorted(values), p);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double correlation_time(std::span<const double> series) {
  const size_t n = series.size();
  if (n < 4) return 1;
  const double middle = median(series);
  std::vector<double> signs;
  double mean = 0;
  for (double x : series) signs.push_back(x > middle ? 1.0 : x < middle ? -1.0 : 0.0);
  for (double s : signs) mean += s / static_cast<double>(n);
  for (double& s : signs) s -= mean;
  const double variance = autocovariance(signs, 0);
  if (variance <= 0) return 1;
  // Geyer's initial positive sequence: pairs of autocorrelations are positive while they are
  // signal. A short series underestimates each by about 1/n; that is added back.
  double sum = 1;
  const double bias = 1.0 / static_cast<double>(n);
  for (size_t lag = 1; lag + 1 < n / 2; lag += 2) {
    const double pair =
        (autocovariance(signs, lag) + autocovariance(signs, lag + 1)) / variance + 2 * bias;
    if (pair <= 0) break;
    sum += 2 * pair;
  }
  return std::clamp(sum, 1.0, static_cast<double>(n));
}

Interval median_interval(std::span<const double> series, double confidence) {
  Interval result;
  result.samples = series.size();
  result.low = -kInfinity;
  result.high = kInfinity;
  if (series.empty()) return result;
  const std::vector<double> values = sorted(series);
  const size_t n = values.size();
  result.value = quantile_of_sorted(values, 0.5);
  result.correlation_time = correlation_time(series);
  const size_t k = rank_below(n, (1 - confidence) / 2);
  if (k == 0) return result;
  // Dependent samples spread the count below the median by the root of the correlation time.
  const double middle = (static_cast<double>(n) + 1) / 2;
  const double half = (middle - static_cast<double>(k)) * std::sqrt(result.correlation_time);
  const double rank = std::floor(middle - half);
  if (rank < 1) return result;
  const size_t low = static_cast<size_t>(rank) - 1;
  result.low = values[low];
  result.high = values[n - 1 - low];
  return result;
}

}  // namespace fiel::judge
