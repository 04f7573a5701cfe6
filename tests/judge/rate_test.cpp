// Shares with their intervals.
#include "judge/rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fiel::judge {
namespace {

TEST(Wilson, IsTheScoreInterval) {
  EXPECT_EQ(wilson(0, 0).low, 0);
  EXPECT_EQ(wilson(0, 0).high, 1);
  // Against the closed form z^2 / (n + z^2) at the ends, and a worked value in between.
  const double z2 = 1.959963984540054 * 1.959963984540054;
  for (uint64_t n : {1u, 10u, 40u, 1000u}) {
    const double d = static_cast<double>(n);
    EXPECT_EQ(wilson(0, n).low, 0);
    EXPECT_NEAR(wilson(0, n).high, z2 / (d + z2), 1e-12);
    EXPECT_EQ(wilson(n, n).high, 1);
    EXPECT_NEAR(wilson(n, n).low, d / (d + z2), 1e-12);
  }
  EXPECT_NEAR(wilson(5, 10).low, 0.236593, 1e-6);
  EXPECT_NEAR(wilson(5, 10).high, 0.763407, 1e-6);
  EXPECT_NEAR(wilson(1, 20).low, 0.008881, 1e-6);
  EXPECT_NEAR(wilson(1, 20).high, 0.236131, 1e-6);
}

TEST(Wilson, HoldsTheTrueShareAboutAsOftenAsItSays) {
  // Exactly, over the binomial distribution: no sampling.
  for (const double p : {0.05, 0.3, 0.5}) {
    const uint64_t n = 60;
    double covered = 0, mass = std::pow(1 - p, static_cast<double>(n));
    for (uint64_t k = 0; k <= n; ++k) {
      const Rate r = wilson(k, n);
      if (r.low <= p && p <= r.high) covered += mass;
      mass *= static_cast<double>(n - k) / static_cast<double>(k + 1) * p / (1 - p);
    }
    EXPECT_GT(covered, 0.92) << p;
    EXPECT_LT(covered, 0.99) << p;
  }
}

}  // namespace
}  // namespace fiel::judge
