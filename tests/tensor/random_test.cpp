#include "tensor/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "tensor/random_math.h"

namespace fiel {
namespace {

Tensor make(std::string_view text, Shape shape, DType t = DType::f64, uint64_t seed = 7,
            uint64_t stream = 1) {
  Result<Distribution> d = parse_distribution(text);
  EXPECT_TRUE(d) << (d ? "" : to_string(d.error()));
  Result<Tensor> x = generate(*d, t, std::move(shape), {seed, stream});
  EXPECT_TRUE(x) << (x ? "" : to_string(x.error()));
  return *x;
}

struct Moments {
  double mean = 0, std = 0, low = 1e300, high = -1e300;
};
Moments moments(const Tensor& t) {
  Moments m;
  std::vector<double> v = t.to_f64();
  for (double x : v) {
    m.mean += x / static_cast<double>(v.size());
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
  }
  for (double x : v) m.std += (x - m.mean) * (x - m.mean) / static_cast<double>(v.size());
  m.std = std::sqrt(m.std);
  return m;
}

TEST(Philox, GivesThePublishedKnownAnswers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomMath, AgreesWithTheCLibraryToAFewUlps) {
  for (double x = 1e-17; x < 1; x = x * 1.37 + 1e-9)
    EXPECT_NEAR(detail::log_of(x), std::log(x), 4e-16 * std::fabs(std::log(x)) + 1e-16) << x;
  for (double x = -900; x < 900; x += 0.737)
    EXPECT_NEAR(detail::exp2_of(x) / std::exp2(x), 1, 1e-14) << x;
  for (int k = 0; k < 1000; ++k) {
    uint64_t turn = static_cast<uint64_t>(k) * 0x0041893cd1f13771ull;
    double angle = 2 * M_PI * std::ldexp(static_cast<double>(turn), -64);
    EXPECT_NEAR(detail::cos_of_turn(turn), std::cos(angle), 2e-15) << k;
  }
}

TEST(Random, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const std::string& name : distribution_names()) {
    std::string text = name == "constant" ? "constant(2)" : name == "indices" ? "indices(9)" : name;
    Distribution d = *parse_distribution(text);
    Tensor a = *generate(d, DType::f32, {130, 255}, {3, 4}, 1);
    for (uint32_t threads : {2u, 5u}) {
      Tensor b = *generate(d, DType::f32, {130, 255}, {3, 4}, threads);
      EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.nbytes())), 0) << name;
    }
  }
}

TEST(Random, AnElementDependsOnItsIndexOnly) {
  // A longer tensor starts with the shorter one; seeds and streams change everything.
  Tensor a = make("normal", {1000}), b = make("normal", {100000});
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(a.at_flat(i), b.at_flat(i));
  Tensor c = make("normal", {1000}, DType::f64, 8, 1), d = make("normal", {1000}, DType::f64, 7, 2);
  int equal = 0;
  for (int64_t i = 0; i < 1000; ++i)
    equal += (a.at_flat(i) == c.at_flat(i)) + (a.at_flat(i) == d.at_flat(i));
  EXPECT_EQ(equal, 0);
}

TEST(Random, MomentsAreThoseOfTheDistribution) {
  const int64_t n = 200000;
  Moments m = moments(make("normal(3, 2)", {n}));
  EXPECT_NEAR(m.mean, 3, 0.02);
  EXPECT_NEAR(m.std, 2, 0.02);
  EXPECT_GT(m.high, 3 + 2 * 3.8);
  EXPECT_LT(m.low, 3 - 2 * 3.8);
  m = moments(make("uniform(-1, 3)", {n}));
  EXPECT_NEAR(m.mean, 1, 0.02);
  EXPECT_NEAR(m.std, 4 / std::sqrt(12.0), 0.01);
  EXPECT_GT(m.low, -1);
  EXPECT_LT(m.high, 3);
  m = moments(make("offset(1000, 1)", {n}));
  EXPECT_NEAR(m.mean, 1000, 0.02);
  m = moments(make("mask(0.25)", {n}));
  EXPECT_NEAR(m.mean, 0.25, 0.005);
  m = moments(make("mixed_sign(2)", {n}));
  EXPECT_NEAR(m.mean, 0, 0.02);
  EXPECT_LE(m.high, 2);
}

TEST(Random, LogUniformCoversTheOctavesAndStaysInTheTypesRange) {
  std::vector<double> v = make("log_uniform(-30, 30)", {60000}).to_f64();
  int negative = 0;
  std::vector<int> octave(60, 0);
  for (double x : v) {
    negative += x < 0;
    octave[static_cast<size_t>(std::clamp(std::ilogb(x) + 30, 0, 59))]++;
  }
  EXPECT_NEAR(negative, 30000, 1000);
  for (int count : octave) EXPECT_NEAR(count, 1000, 200);
  for (DType t : {DType::f16, DType::e4m3, DType::e5m2, DType::bf16})
    for (double x : make("log_uniform(-30, 30)", {3000}, t).to_f64()) {
      ASSERT_TRUE(std::isfinite(x));
      ASSERT_NE(x, 0) << name_of(t);
    }
}

TEST(Random, SpecialValuesAreAllThereEvenInASmallTensor) {
  for (DType t : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (int64_t n : {12, 5000}) {
      int nan = 0, positive = 0, negative = 0, zero = 0, tiny = 0;
      double smallest_normal = t == DType::f16 ? 0x1p-14 : t == DType::f64 ? 0x1p-1022 : 0x1p-126;
      for (double x : make("special(0.05)", {n}, t).to_f64()) {
        nan += std::isnan(x);
        positive += std::isinf(x) && x > 0;
        negative += std::isinf(x) && x < 0;
        zero += x == 0 && std::signbit(x);
        tiny += x != 0 && std::fabs(x) < smallest_normal;
      }
      EXPECT_TRUE(nan && positive && negative && zero && tiny) << name_of(t) << " " << n;
      int all = nan + positive + negative + zero + tiny;
      EXPECT_TRUE(n != 5000 || std::abs(all - 250) < 80) << all;
    }
  }
}

TEST(Random, OneHotPermutationAndProbabilityHoldByRow) {
  const int64_t rows = 200, n = 37;
  Tensor hot = make("one_hot", {rows, n}), perm = make("permutation", {rows, n}, DType::i32),
         prob = make("probability", {rows, n});
  std::set<int64_t> places, first;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0, total = 0;
    std::set<double> seen;
    for (int64_t i = 0; i < n; ++i) {
      sum += hot.at({r, i});
      if (hot.at({r, i}) == 1) places.insert(i);
      seen.insert(perm.at({r, i}));
      EXPECT_GT(prob.at({r, i}), 0);
      total += prob.at({r, i});
    }
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(seen.size(), 37u);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), 36);
    EXPECT_NEAR(total, 1, 1e-12);
    first.insert(static_cast<int64_t>(perm.at({r, 0})));
  }
  EXPECT_GT(places.size(), 30u);
  EXPECT_GT(first.size(), 30u);
}

TEST(Random, TiesIndicesOutliersAndConstantsKeepTheirPromise) {
  std::set<double> levels;
  for (double x : make("ties(3)", {1000}).to_f64()) levels.insert(x);
  EXPECT_EQ(levels, (std::set<double>{-1, 0, 1}));
  std::vector<int> count(10, 0);
  for (double x : make("indices(10)", {10000}, DType::i64).to_f64())
    count[static_cast<size_t>(x)]++;
  for (int c : count) EXPECT_NEAR(c, 1000, 150);
  int big = 0;
  for (double x : make("outliers(0.01, 1000)", {10000}).to_f64()) big += std::fabs(x) >= 500;
  EXPECT_NEAR(big, 100, 40);
  big = 0;
  for (double x : make("outliers(0.001, 1000)", {20}).to_f64()) big += std::fabs(x) >= 500;
  EXPECT_GE(big, 1);
  for (double x : make("constant(-2.5)", {50}, DType::f16).to_f64()) EXPECT_EQ(x, -2.5);
}

TEST(Random, FiniteDistributionsStayFiniteInNarrowTypes) {
  for (DType t : {DType::e4m3, DType::e5m2, DType::f16})
    for (const char* text : {"outliers(0.2, 1000000)", "offset(1000000, 1)", "uniform(0, 1e30)"})
      for (double x : make(text, {500}, t).to_f64()) ASSERT_TRUE(std::isfinite(x)) << text;
}

TEST(Random, RefusesWhatCannotBeHad) {
  const struct {
    const char* text;
    const char* says;
  } bad[] = {{"norml(0,1)", "did you mean \"normal\""},
             {"normal(0,1,2)", "at most 2"},
             {"normal(0", "closing parenthesis"},
             {"normal(zero)", "not a number"},
             {"normal(nan)", "not a number"},
             {"normal(0,-1)", "outside"},
             {"uniform(2,1)", "above its upper end"},
             {"constant", "exactly 1"},
             {"ties(2.5)", "whole number"},
             {"mask(1.5)", "outside"},
             {"one_hot(3)", "at most 0"},
             {"", "unknown distribution"},
             {"indices(0)", "outside"}};
  for (const auto& b : bad) {
    Result<Distribution> d = parse_distribution(b.text);
    ASSERT_FALSE(d) << b.text;
    EXPECT_NE(to_string(d.error()).find(b.says), std::string::npos) << to_string(d.error());
  }
  EXPECT_FALSE(generate(*parse_distribution("indices(300)"), DType::u8, {4}, {}));
  EXPECT_TRUE(generate(*parse_distribution("indices(256)"), DType::u8, {4}, {}));
  EXPECT_FALSE(generate(*parse_distribution("permutation"), DType::bf16, {1000}, {}));
  EXPECT_FALSE(generate(*parse_distribution("probability"), DType::i32, {4}, {}));
}

TEST(Random, TextFormsReadBack) {
  for (const char* text : {"normal(0.5, 2)", "one_hot", "log_uniform(-7, 9)", "constant(1e-05)"}) {
    Distribution d = *parse_distribution(text);
    Distribution e = *parse_distribution(to_string(d));
    EXPECT_EQ(to_string(e), to_string(d));
    EXPECT_EQ(e.a, d.a);
    EXPECT_EQ(e.b, d.b);
  }
}

}  // namespace
}  // namespace fiel
