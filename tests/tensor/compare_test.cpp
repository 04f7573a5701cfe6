#include "tensor/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/random.h"

namespace fiel {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor f64(std::vector<double> v) {
  auto n = static_cast<int64_t>(v.size());
  return Tensor::from_f64(DType::f64, {n}, v);
}
Tensor f32(std::vector<double> v) {
  auto n = static_cast<int64_t>(v.size());
  return Tensor::from_f64(DType::f32, {n}, v);
}
Comparison check(const Tensor& reference, const Tensor& actual, const ErrorModel& model = {}) {
  Result<Comparison> c = compare(reference, actual, model);
  EXPECT_TRUE(c) << (c ? "" : to_string(c.error()));
  return c ? *c : Comparison{};
}

TEST(Compare, ReportsStatisticsOfAKnownError) {
  Comparison c = check(f64({3, -4, 0, 1}), f32({3, -4, 0.5, 1}));
  EXPECT_EQ(c.elements, 4);
  EXPECT_EQ(c.max_abs, 0.5);
  EXPECT_EQ(c.rms_error, 0.25);
  EXPECT_DOUBLE_EQ(c.rms_output, std::sqrt(26.0 / 4));
  EXPECT_DOUBLE_EQ(c.relative_rms, 0.25 / std::sqrt(26.0 / 4));
  EXPECT_EQ(c.exact_fraction, 0.75);
  EXPECT_EQ(c.first_failing, 2);
  EXPECT_EQ(c.worst_index, 2);
  EXPECT_EQ(c.failing, 1);
  EXPECT_EQ(c.expected_first, 0);
  EXPECT_EQ(c.actual_first, 0.5);
  EXPECT_EQ(c.min_reference, -4);
  EXPECT_EQ(c.max_reference, 3);
  EXPECT_FALSE(c.accepted());
  EXPECT_NE(c.reason({4}).find("(2,)"), std::string::npos) << c.reason({4});
}

TEST(Compare, TheRoundedReferencePassesInEveryType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    auto t = static_cast<DType>(i);
    Tensor x = *generate(*parse_distribution("normal(0, 3)"), DType::f64, {40, 33}, {1, 2});
    if (!is_floating(t)) x = x.to(t).to(DType::f64);
    ErrorModel model;
    model.output = t;
    if (t == DType::f64) model.unit = 0x1p-53;
    Comparison c = check(x, x.to(t), model);
    EXPECT_TRUE(c.accepted()) << name_of(t) << c.reason(x.shape());
    EXPECT_EQ(c.exact_fraction, 1) << name_of(t);
    EXPECT_LE(c.max_ulp, 0.5);
    EXPECT_NE(c.numerics, NumericsClass::below);
  }
}

TEST(Compare, ZerosAConstantAndOtherInputsFailInEveryFloatingType) {
  for (int i = 0; i < 7; ++i) {
    auto t = static_cast<DType>(i);
    Tensor x = *generate(*parse_distribution("normal"), DType::f64, {64, 32}, {1, 2});
    Tensor other = *generate(*parse_distribution("normal"), t, {64, 32}, {1, 3});
    ErrorModel model{.output = t};
    EXPECT_FALSE(check(x, Tensor::empty(t, x.shape()), model).accepted()) << name_of(t);
    EXPECT_FALSE(check(x, other, model).accepted()) << name_of(t);
  }
}

TEST(Compare, NanAndInfinityMustMatchUnderPropagateAndAreSkippedUnderIgnore) {
  const Tensor reference = f64({kNan, kInf, -kInf, 1, 2});
  EXPECT_TRUE(check(reference, f32({kNan, kInf, -kInf, 1, 2})).accepted());
  Comparison c = check(reference, f32({0, kInf, -kInf, 1, 2}));
  EXPECT_EQ(c.nan_mismatches, 1);
  EXPECT_EQ(c.first_failing, 0);
  EXPECT_EQ(c.numerics, NumericsClass::below);
  c = check(reference, f32({kNan, -kInf, kInf, 1, 2}));
  EXPECT_EQ(c.infinity_mismatches, 2);
  c = check(reference, f32({kNan, kInf, -kInf, kNan, 2}));
  EXPECT_EQ(c.first_failing, 3);
  EXPECT_TRUE(std::isinf(c.rms_error));
  ErrorModel ignore{.special = SpecialRule::ignore};
  c = check(reference, f32({0, 0, 0, 1, 2}), ignore);
  EXPECT_TRUE(c.accepted());
  EXPECT_EQ(c.compared, 2);
  EXPECT_FALSE(check(reference, f32({0, 0, 0, kNan, 2}), ignore).accepted());
}

/// x / (1 + exp(-x)) at -88 where the quotient, or the sigmoid in it, is flushed: not a wrong
/// kernel.
TEST(Compare, WhatIsLostNearTheLeastNumbersIsNotWrong) {
  EXPECT_TRUE(check(f64({-2.2e-34}), f32({0})).accepted());
  EXPECT_TRUE(check(f64({3.8e-37, -1e-38}), f32({0, 0})).accepted());
  EXPECT_FALSE(check(f64({1e-30}), f32({0})).accepted());
}

TEST(Compare, AnInfinityAnswersInfinityMinusInfinityWhereNoInputIsNan) {
  const ErrorModel model{.special = SpecialRule::indeterminate};
  const Tensor reference = f64({kNan, kInf, 1});
  for (double value : {kNan, kInf, -kInf})
    EXPECT_TRUE(check(reference, f32({value, kInf, 1}), model).accepted()) << value;
  EXPECT_FALSE(check(reference, f32({0, kInf, 1}), model).accepted());
  EXPECT_FALSE(check(reference, f32({kNan, kNan, 1}), model).accepted());
  EXPECT_FALSE(check(reference, f32({kNan, kInf, kInf}), model).accepted());
  EXPECT_FALSE(check(reference, f32({kInf, kInf, 1})).accepted());
}

TEST(Compare, OverflowOfTheOutputTypeIsInfinity) {
  ErrorModel half{.output = DType::f16};
  auto h = [](std::vector<double> v) {
    return Tensor::from_f64(DType::f16, {static_cast<int64_t>(v.size())}, v);
  };
  EXPECT_TRUE(check(f64({1e6, -1e6, 1}), h({kInf, -kInf, 1}), half).accepted());
  EXPECT_FALSE(check(f64({1e6, 1}), h({-kInf, 1}), half).accepted());
  EXPECT_FALSE(check(f64({1e6, 1}), h({65504, 1}), half).accepted());
  EXPECT_TRUE(check(f64({65519, 1}), h({65504, 1}), half).accepted());
  EXPECT_TRUE(check(f64({65519, 1}), h({kInf, 1}), half).accepted());
  EXPECT_FALSE(check(f64({6000, 1}), h({kInf, 1}), half).accepted());
  ErrorModel small{.output = DType::e4m3};
  auto e = [](std::vector<double> v) {
    return Tensor::from_f64(DType::e4m3, {static_cast<int64_t>(v.size())}, v);
  };
  EXPECT_TRUE(check(f64({1000, 1}), e({448, 1}), small).accepted());   // .satfinite
  EXPECT_TRUE(check(f64({1000, 1}), e({kNan, 1}), small).accepted());  // PyTorch
}

TEST(Compare, IntegersAndBoolsAreExact) {
  ErrorModel model{.output = DType::i64};
  Tensor a = Tensor::empty(DType::i64, {3}), b = Tensor::empty(DType::i64, {3});
  a.data_as<int64_t>()[1] = (int64_t{1} << 60) + 1;
  b.data_as<int64_t>()[1] = (int64_t{1} << 60) + 1;
  EXPECT_TRUE(check(a, b, model).accepted());
  b.data_as<int64_t>()[1] += 1;  // the same double
  Comparison c = check(a, b, model);
  EXPECT_EQ(c.first_failing, 1);
  EXPECT_EQ(c.numerics, NumericsClass::below);
}

TEST(Compare, ATieThatMayGoEitherWayIsJudgedByItsSensitivity) {
  // argmax of two equal maxima: perturbed references answer 3 or 7.
  ErrorModel model{.output = DType::i64};
  Tensor reference = Tensor::from_f64(DType::i64, {2}, std::vector<double>{3, 5});
  Tensor actual = Tensor::from_f64(DType::i64, {2}, std::vector<double>{7, 5});
  EXPECT_FALSE(check(reference, actual, model).accepted());
  model.sensitivity = f64({4 / (model.unit * model.growth()), 0});
  EXPECT_TRUE(check(reference, actual, model).accepted());
  Tensor wrong = Tensor::from_f64(DType::i64, {2}, std::vector<double>{3, 6});
  EXPECT_FALSE(check(reference, wrong, model).accepted());
}

TEST(Compare, RowsOfSmallScaleAreHeldToTheirOwnScale) {
  Tensor reference = *generate(*parse_distribution("normal"), DType::f64, {8, 64}, {5, 5});
  for (int64_t i = 0; i < 64; ++i) reference.set({3, i}, reference.at({3, i}) * 1e-5);
  Tensor actual = reference.to(DType::f32);
  EXPECT_TRUE(check(reference, actual).accepted());
  for (int64_t i = 0; i < 64; ++i) actual.set({3, i}, 0);
  EXPECT_FALSE(check(reference, actual).accepted());
}

TEST(Compare, FewElementsMayAllBeWorstCasesOfRounding) {
  // Ties just above powers of two, rounded once; then truncated by a whole step.
  for (DType t : {DType::bf16, DType::f16, DType::e4m3}) {
    const double step = 2 * unit_roundoff(t);
    ErrorModel model{.output = t};
    Tensor once = Tensor::from_f64(t, {2}, std::vector<double>{1, 4});
    EXPECT_TRUE(check(f64({1 + step / 2, 4 + 2 * step}), once, model).accepted());
    EXPECT_TRUE(check(f64({1 + step * 0.99, 4 + 4 * step * 0.99}), once, model).accepted());
    EXPECT_FALSE(check(f64({1 + step * 1.5, 4 + 6 * step}), once, model).accepted());
  }
}

TEST(Compare, StridedTensorsCompareLikeTheirCopies) {
  Tensor reference = *generate(*parse_distribution("normal"), DType::f64, {50, 70}, {5, 5});
  Tensor actual = reference.transposed(0, 1).to(DType::f32).transposed(0, 1);
  ASSERT_FALSE(actual.is_contiguous());
  EXPECT_TRUE(check(reference, actual).accepted());
  actual.set({49, 3}, 9);
  EXPECT_EQ(check(reference, actual).first_failing, 49 * 70 + 3);
}

TEST(Compare, ResultDoesNotDependOnTheNumberOfThreads) {
  for (Shape shape : {Shape{300, 1000}, Shape{2, 200000}, Shape{400001, 2}, Shape{70000}}) {
    Tensor reference = *generate(*parse_distribution("normal"), DType::f64, shape, {5, 5});
    Tensor actual = *generate(*parse_distribution("normal"), DType::f32, shape, {5, 6});
    Comparison a = *compare(reference, actual, {}, {1}), b = *compare(reference, actual, {}, {3});
    EXPECT_EQ(a.rms_error, b.rms_error);
    EXPECT_EQ(a.failing, b.failing);
    EXPECT_EQ(a.worst_index, b.worst_index);
    EXPECT_EQ(a.worst_ratio, b.worst_ratio);
    EXPECT_EQ(a.first_failing, b.first_failing);
    EXPECT_EQ(a.compared, numel(shape));
  }
}

TEST(Compare, RefusesAnotherShapeOrType) {
  EXPECT_FALSE(compare(f64({1, 2}), f32({1}), {}));
  EXPECT_FALSE(compare(f64({1}), f64({1}), {}));
}

TEST(Compare, TheTasksOwnLimitReplacesTheDefault) {
  Tensor x = *generate(*parse_distribution("normal"), DType::f64, {64, 64}, {1, 2});
  Tensor y = x.to(DType::f32);
  for (int64_t i = 0; i < y.numel(); ++i) y.set_flat(i, y.at_flat(i) + (i % 2 ? 1e-3 : -1e-3));
  EXPECT_FALSE(check(x, y).accepted());
  EXPECT_TRUE(check(x, y, {.relative_rms = 2e-3}).accepted());
  EXPECT_FALSE(check(x, y, {.relative_rms = 5e-4}).accepted());
}

TEST(UlpDistance, CountsRepresentableSteps) {
  EXPECT_EQ(ulp_distance(DType::f32, 1, 1 + 0x1p-23), 1);
  EXPECT_EQ(ulp_distance(DType::f32, 0x1p-149, -0x1p-149), 2);
  EXPECT_EQ(ulp_distance(DType::f16, 65504, 65472), 1);
  EXPECT_EQ(ulp_distance(DType::bf16, 1, 2), 128);
  EXPECT_EQ(ulp_distance(DType::tf32, 1, 1 + 0x1p-10), 1);
  EXPECT_EQ(ulp_distance(DType::f64, 0.0, -0.0), 0);
  EXPECT_EQ(ulp_distance(DType::i32, 4, -4), 8);
  EXPECT_EQ(ulp_distance(DType::f32, kNan, 1), kInf);
}

TEST(FirstDifference, ComparesBitsNotValues) {
  Tensor a = f32({1, kNan, 0}), b = f32({1, kNan, 0});
  EXPECT_EQ(first_difference(a, b), -1);
  b.set({2}, -0.0);
  EXPECT_EQ(first_difference(a, b), 2);
}

TEST(NumericsClass, TheWorseOfTwoIsTheClassOfAKernel) {
  EXPECT_EQ(worse(NumericsClass::fp32, NumericsClass::tf32), NumericsClass::tf32);
  EXPECT_EQ(worse(NumericsClass::integer, NumericsClass::fp32), NumericsClass::fp32);
  EXPECT_EQ(worse(NumericsClass::below, NumericsClass::integer), NumericsClass::below);
}

}  // namespace
}  // namespace fiel
