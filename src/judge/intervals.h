// The median of a series of measurements, with an interval that holds whatever the noise looks
// like.
//
//   Interval i = median_interval(ratios_by_round, kLookConfidence);
//   if (i.holds(1.0)) …
//
// Order statistics and nothing else: no normality, no finite variance. Neighbours that resemble
// each other (drift, clocks that switch) count for less: the ranks move out by the square root of
// the measured correlation time. docs/timing-statistics.md derives it; the tests measure the
// coverage.
#pragma once

#include <cstddef>
#include <span>

namespace fiel::judge {

/// Looks at a growing series before it has to decide; each spends a fifth of the 5 %.
inline constexpr int kMaxLooks = 5;
inline constexpr double kLookConfidence = 0.99;

struct Interval {
  double value = 0;          ///< the median
  double low = 0, high = 0;  ///< infinite where the series is too short to say
  size_t samples = 0;
  double correlation_time = 1;  ///< neighbours that are worth one independent sample

  bool bounded() const;
  bool holds(double x) const { return low <= x && x <= high; }
};

/// `series` in the order of time. Fewer than eight values bound nothing at 99 %.
Interval median_interval(std::span<const double> series, double confidence = kLookConfidence);

double median(std::span<const double> values);
/// The p-quantile, 0 <= p <= 1, between neighbours linearly; 0 of nothing.
double quantile(std::span<const double> values, double p);

/// Independent samples that n values in time order are not: sum of the autocorrelations of "above
/// the median". At least 1.
double correlation_time(std::span<const double> series);

}  // namespace fiel::judge
