// Bounds against kernels imitated in float: honest ones must fit, broken ones must not.
#include <bit>
#include <cmath>

#include "instances.h"

namespace fiel::judge {
namespace {

Tensor normal(Shape shape, uint64_t seed, double mean = 0, double deviation = 1) {
  Tensor t = Tensor::empty(DType::f32, shape);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  auto uniform = [&] {
    state = derive_seed(state, 5);
    return (static_cast<double>(state >> 11) + 0.5) * 0x1p-53;
  };
  float* v = t.data_as<float>();
  for (int64_t i = 0; i < t.numel(); ++i)
    v[i] = static_cast<float>(mean + deviation * std::sqrt(-2 * std::log(uniform())) *
                                         std::cos(6.283185307179586 * uniform()));
  return t;
}

float half(float v) { return static_cast<float>(f16_to_f64(f64_to_f16(v))); }
float tf32(float v) { return f64_to_tf32(v); }
float same(float v) { return v; }

/// Worst ratio of one output, `wrong` as the model says.
fiel::Comparison compared(const Expectation& e, const Tensor& got, NumericsClass n) {
  auto c = e.compare(0, got, n);
  EXPECT_TRUE(c.has_value());
  return *c;
}

template <typename Operand, typename Sum>
Tensor matmul(const Tensor& a, const Tensor& b, Operand operand, Sum sum) {
  const int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  Tensor c = Tensor::empty(DType::f32, {m, n});
  const float *x = a.data_as<float>(), *w = b.data_as<float>();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float s = 0;
      for (int64_t l = 0; l < k; ++l) s = sum(s + operand(x[i * k + l]) * operand(w[l * n + j]));
      c.data_as<float>()[i * n + j] = s;
    }
  return c;
}

struct Matmul {
  std::shared_ptr<const task::Instance> at;
  Tensor a, b;
  Expectation expectation;
};
Matmul make_matmul(int64_t k, double mean) {
  auto at = make_instance("y = matmul(a, b)",
                          {{"a", {DType::f32, {37, k}}}, {"b", {DType::f32, {k, 41}}}});
  Tensor a = normal({37, k}, 1, mean), b = normal({k, 41}, 2, mean);
  return {at, a, b, expect_on(at, {a, b})};
}

class MatmulClasses : public ::testing::TestWithParam<std::pair<int64_t, double>> {};

TEST_P(MatmulClasses, Fp32SumsAreOfClassFp32) {
  const Matmul m = make_matmul(GetParam().first, GetParam().second);
  const Tensor y = matmul(m.a, m.b, same, same);
  const fiel::Comparison c = compared(m.expectation, y, NumericsClass::fp32);
  EXPECT_TRUE(c.accepted()) << c.worst_ratio;
  EXPECT_LT(c.worst_ratio, 0.7) << "too near the bound for an honest kernel";
}

TEST_P(MatmulClasses, RoundedOperandsAreOfClassTf32) {
  const Matmul m = make_matmul(GetParam().first, GetParam().second);
  const Tensor y = matmul(m.a, m.b, tf32, same);
  EXPECT_FALSE(compared(m.expectation, y, NumericsClass::fp32).accepted());
  const fiel::Comparison c = compared(m.expectation, y, NumericsClass::tf32);
  EXPECT_TRUE(c.accepted());
  EXPECT_EQ(c.numerics, NumericsClass::tf32);
}

TEST_P(MatmulClasses, SumsInHalfPrecisionAreNotAccepted) {
  const Matmul m = make_matmul(GetParam().first, GetParam().second);
  const Tensor y = matmul(m.a, m.b, half, half);
  EXPECT_FALSE(compared(m.expectation, y, NumericsClass::tf32).accepted());
}

INSTANTIATE_TEST_SUITE_P(Lengths, MatmulClasses,
                         ::testing::Values(std::pair<int64_t, double>{256, 0.0},
                                           std::pair<int64_t, double>{511, 0.0},
                                           std::pair<int64_t, double>{2048, 0.0},
                                           std::pair<int64_t, double>{511, 1.0}));

// ---- factors that TF32 holds exactly -----------------------------------------------------------

float bf16(float v) { return static_cast<float>(bf16_to_f64(f64_to_bf16(v))); }
float truncated(float v) { return std::bit_cast<float>(std::bit_cast<uint32_t>(v) & 0xFFFFE000u); }

Matmul make_exact_matmul(const std::string& expression, int64_t k) {
  auto at = make_instance(expression, {{"a", {DType::f32, {37, k}}},
                                       {"b", {DType::f32, {k, 41}}, task::Domain::real, true}});
  auto inputs = make_inputs(*at, {Probe::exact_products, 0, 11, 1});
  EXPECT_TRUE(inputs && *inputs);
  return {at, (**inputs)[0], (**inputs)[1], expect_on(at, **inputs)};
}

/// As tensor cores do: 16 terms exactly, then one rounding.
Tensor by_sixteens(const Matmul& m, float (*round)(float)) {
  const int64_t rows = m.a.shape()[0], k = m.a.shape()[1], n = m.b.shape()[1];
  Tensor c = Tensor::empty(DType::f32, {rows, n});
  const float *x = m.a.data_as<float>(), *w = m.b.data_as<float>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float s = 0;
      for (int64_t l = 0; l < k; l += 16) {
        double fused = s;
        for (int64_t q = l; q < std::min(k, l + 16); ++q)
          fused += double{x[i * k + q]} * w[q * n + j];
        s = round(static_cast<float>(fused));
      }
      c.data_as<float>()[i * n + j] = s;
    }
  return c;
}

class ShortSums : public ::testing::TestWithParam<int64_t> {};

TEST_P(ShortSums, RoundedFactorsMakeFp32sErrorsOnly) {
  const Matmul m = make_exact_matmul("y = matmul(a, b)", GetParam());
  for (auto* factor : {same, tf32, truncated, half, bf16}) {
    const fiel::Comparison c =
        compared(m.expectation, matmul(m.a, m.b, factor, same), NumericsClass::tf32);
    EXPECT_TRUE(c.accepted()) << c.worst_ratio;
    EXPECT_EQ(c.numerics, NumericsClass::fp32);
  }
  const fiel::Comparison c = compared(m.expectation, by_sixteens(m, same), NumericsClass::tf32);
  EXPECT_EQ(c.numerics, NumericsClass::fp32);
}

TEST_P(ShortSums, SumsInHalfPrecisionAreBf16sClassAndRefused) {
  const Matmul m = make_exact_matmul("y = matmul(a, b)", GetParam());
  for (const Tensor& y : {matmul(m.a, m.b, half, half), by_sixteens(m, half)}) {
    const fiel::Comparison c = compared(m.expectation, y, NumericsClass::tf32);
    EXPECT_FALSE(c.accepted());
    EXPECT_GT(c.rms_error / c.rms_limit, 3) << "too near the limit to be told for certain";
    EXPECT_EQ(c.numerics, NumericsClass::bf16);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, ShortSums, ::testing::Values(4, 16, 27, 64, 100, 255, 2048));

TEST(ShortSums, OnOrdinaryDataHalfPrecisionPassesForTf32) {
  // Why the probe is there: where this fails, it is no longer needed.
  const Matmul m = make_matmul(64, 0);
  const fiel::Comparison c = compared(m.expectation, by_sixteens(m, half), NumericsClass::tf32);
  EXPECT_TRUE(c.accepted());
  EXPECT_EQ(c.numerics, NumericsClass::tf32);
}

TEST(ShortSums, AScaleMovedIntoAFactorIsHonest) {
  const Matmul m = make_exact_matmul("y = matmul(a, b) * 0.3", 64);
  Tensor scaled = m.a.clone();
  for (int64_t i = 0; i < scaled.numel(); ++i) scaled.data_as<float>()[i] *= 0.3f;
  const fiel::Comparison c =
      compared(m.expectation, matmul(scaled, m.b, tf32, same), NumericsClass::tf32);
  EXPECT_TRUE(c.accepted()) << c.worst_ratio;
  EXPECT_EQ(c.numerics, NumericsClass::tf32);
}

/// F(2, 3): four inputs and three weights of each channel give two outputs; Winograd's forms are
/// rounded to TF32 before they are multiplied.
Tensor winograd(const Tensor& x, const Tensor& w) {
  const int64_t images = x.shape()[0], channels = x.shape()[1], filters = w.shape()[0];
  Tensor y = Tensor::empty(DType::f32, {images, filters, 2});
  for (int64_t i = 0; i < images; ++i)
    for (int64_t f = 0; f < filters; ++f) {
      float sums[4] = {};
      for (int64_t c = 0; c < channels; ++c) {
        const float* d = x.data_as<float>() + (i * channels + c) * 4;
        const float* g = w.data_as<float>() + (f * channels + c) * 3;
        const float v[] = {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
        const float u[] = {g[0], (g[0] + g[1] + g[2]) / 2, (g[0] - g[1] + g[2]) / 2, g[2]};
        for (size_t k = 0; k < 4; ++k) sums[k] += tf32(v[k]) * tf32(u[k]);
      }
      float* out = y.data_as<float>() + (i * filters + f) * 2;
      out[0] = sums[0] + sums[1] + sums[2];
      out[1] = sums[1] - sums[2] - sums[3];
    }
  return y;
}

TEST(ShortSums, WinogradsFormsStayExact) {
  auto at = make_instance("y = conv1d(x, w)",
                          {{"x", {DType::f32, {40, 12, 4}}},
                           {"w", {DType::f32, {24, 12, 3}}, task::Domain::real, true}});
  auto inputs = make_inputs(*at, {Probe::exact_products, 0, 12, 1});
  ASSERT_TRUE(inputs && *inputs);
  const Expectation e = expect_on(at, **inputs);
  const fiel::Comparison c =
      compared(e, winograd((**inputs)[0], (**inputs)[1]), NumericsClass::tf32);
  EXPECT_TRUE(c.accepted()) << c.worst_ratio;
  EXPECT_EQ(c.numerics, NumericsClass::fp32);
}

enum class SumKind { sequential, pairwise, kahan, drops_last };

float sum_of(const float* v, int64_t n, SumKind kind) {
  if (kind == SumKind::pairwise) {
    if (n == 1) return v[0];
    return sum_of(v, n / 2, kind) + sum_of(v + n / 2, n - n / 2, kind);
  }
  if (kind == SumKind::drops_last) n -= std::max<int64_t>(1, n / 1000);
  float s = 0, lost = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (kind == SumKind::kahan) {
      const float y = v[i] - lost, t = s + y;
      lost = (t - s) - y;
      s = t;
    } else {
      s += v[i];
    }
  }
  return s;
}

Tensor sums(const Tensor& x, SumKind kind) {
  const int64_t rows = x.shape()[0], n = x.shape()[1];
  Tensor y = Tensor::empty(DType::f32, {rows});
  for (int64_t r = 0; r < rows; ++r)
    y.data_as<float>()[r] = sum_of(x.data_as<float>() + r * n, n, kind);
  return y;
}

class SumLengths : public ::testing::TestWithParam<int64_t> {};

void check_sums(int64_t rows, int64_t n) {
  auto at = make_instance("y = sum(x, dim=1)", {{"x", {DType::f32, {rows, n}}}});
  const Tensor x = normal({rows, n}, 3);
  const Expectation e = expect_on(at, {x});
  for (SumKind kind : {SumKind::sequential, SumKind::pairwise, SumKind::kahan}) {
    const fiel::Comparison c = compared(e, sums(x, kind), NumericsClass::fp32);
    EXPECT_TRUE(c.accepted()) << static_cast<int>(kind) << " ratio " << c.worst_ratio;
  }
  EXPECT_FALSE(compared(e, sums(x, SumKind::drops_last), NumericsClass::fp32).accepted());
}

TEST_P(SumLengths, HonestOrdersPassAndDroppedTermsFail) {
  check_sums(GetParam() > 100'000 ? 3 : 40, GetParam());
}

TEST(Sums, HonestOrdersOf16MillionTermsPassAndDroppedTermsFail) { check_sums(1, 1 << 24); }

TEST_P(SumLengths, ASumThatLosesTermsFailsOnOffsetDataToo) {
  const int64_t n = GetParam(), rows = n > 100'000 ? 3 : 40;
  auto at = make_instance("y = sum(x, dim=1)", {{"x", {DType::f32, {rows, n}}}});
  const Tensor x = normal({rows, n}, 4, 1000);
  const Expectation e = expect_on(at, {x});
  EXPECT_TRUE(compared(e, sums(x, SumKind::kahan), NumericsClass::fp32).accepted());
  EXPECT_TRUE(compared(e, sums(x, SumKind::sequential), NumericsClass::fp32).accepted());
  EXPECT_FALSE(compared(e, sums(x, SumKind::drops_last), NumericsClass::fp32).accepted());
}

INSTANTIATE_TEST_SUITE_P(Lengths, SumLengths, ::testing::Values(64, 4096, 262144));

enum class Variance { two_pass, welford, one_pass };

Tensor layer_norm(const Tensor& x, Variance kind) {
  const int64_t rows = x.shape()[0], n = x.shape()[1];
  Tensor y = Tensor::empty(DType::f32, {rows, n});
  for (int64_t r = 0; r < rows; ++r) {
    const float* v = x.data_as<float>() + r * n;
    float mean = 0, variance = 0;
    const auto count = static_cast<float>(n);
    if (kind == Variance::welford) {
      float m2 = 0;
      for (int64_t i = 0; i < n; ++i) {
        const float d = v[i] - mean;
        mean += d / static_cast<float>(i + 1);
        m2 += d * (v[i] - mean);
      }
      variance = m2 / count;
    } else {
      float s = 0, q = 0;
      for (int64_t i = 0; i < n; ++i) s += v[i], q += v[i] * v[i];
      mean = s / count;
      variance = q / count - mean * mean;
      if (kind == Variance::two_pass) {
        variance = 0;
        for (int64_t i = 0; i < n; ++i) variance += (v[i] - mean) * (v[i] - mean);
        variance /= count;
      }
    }
    const float scale = 1 / std::sqrt(std::max(variance, 0.f) + 1e-5f);
    for (int64_t i = 0; i < n; ++i) y.data_as<float>()[r * n + i] = (v[i] - mean) * scale;
  }
  return y;
}

class NormOffsets : public ::testing::TestWithParam<double> {};

TEST_P(NormOffsets, TwoPassesAndWelfordPassOnePassFails) {
  for (int64_t n : {31, 511, 2048}) {
    auto at = make_instance("y = layer_norm(x, normalized_shape=[" + std::to_string(n) + "])",
                            {{"x", {DType::f32, {9, n}}}});
    ASSERT_NE(at, nullptr);
    const Tensor x = normal({9, n}, 6, GetParam());
    const Expectation e = expect_on(at, {x});
    for (Variance kind : {Variance::two_pass, Variance::welford}) {
      const fiel::Comparison c = compared(e, layer_norm(x, kind), NumericsClass::fp32);
      EXPECT_TRUE(c.accepted()) << n << ": " << c.worst_ratio;
    }
    const fiel::Comparison c = compared(e, layer_norm(x, Variance::one_pass), NumericsClass::fp32);
    if (GetParam() >= 300) {
      EXPECT_FALSE(c.accepted()) << n << ": " << c.worst_ratio;
    }
  }
}

TEST_P(NormOffsets, RowsOfTwoAndThreeToo) {
  // Such rows are often ill-conditioned whatever their mean: their values may all but agree.
  constexpr int64_t kRows = 2048;
  for (int64_t n : {2, 3, 4})
    for (uint64_t seed : {6, 7}) {
      auto at = make_instance("y = layer_norm(x, normalized_shape=[" + std::to_string(n) + "])",
                              {{"x", {DType::f32, {kRows, n}}}});
      ASSERT_NE(at, nullptr);
      const Tensor x = normal({kRows, n}, seed, GetParam());
      const Expectation e = expect_on(at, {x});
      if (GetParam() >= 10) {
        EXPECT_FALSE(
            compared(e, layer_norm(x, Variance::one_pass), NumericsClass::fp32).accepted());
      }
      for (Variance kind : {Variance::two_pass, Variance::welford}) {
        const fiel::Comparison c = compared(e, layer_norm(x, kind), NumericsClass::fp32);
        EXPECT_TRUE(c.accepted()) << n << ": " << c.reason({kRows, n}) << " worst " << c.worst_ratio
                                  << " rms " << c.rms_error / c.rms_limit;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Means, NormOffsets, ::testing::Values(0.0, 10.0, 316.0, 1000.0, 1500.0));

float variance_of(const float* v, int64_t n, Variance kind) {
  const auto count = static_cast<float>(n);
  float mean = 0, m2 = 0;
  if (kind == Variance::welford) {
    for (int64_t i = 0; i < n; ++i) {
      const float d = v[i] - mean;
      mean += d / static_cast<float>(i + 1);
      m2 += d * (v[i] - mean);
    }
    return m2 / (count - 1);
  }
  float s = 0, q = 0;
  for (int64_t i = 0; i < n; ++i) s += v[i], q += v[i] * v[i];
  mean = s / count;
  if (kind == Variance::one_pass) return (q - s * mean) / (count - 1);
  for (int64_t i = 0; i < n; ++i) m2 += (v[i] - mean) * (v[i] - mean);
  return m2 / (count - 1);
}

TEST_P(NormOffsets, VariancesOfTwoToFourValuesToo) {
  constexpr int64_t kRows = 4096;
  for (int64_t n : {2, 3, 4})
    for (const bool root : {false, true}) {
      auto at = make_instance(root ? "y = std(x, dim=-1)" : "y = var(x, dim=-1)",
                              {{"x", {DType::f32, {kRows, n}}}});
      ASSERT_NE(at, nullptr);
      const Tensor x = normal({kRows, n}, 8, GetParam());
      const Expectation e = expect_on(at, {x});
      for (Variance kind : {Variance::two_pass, Variance::welford, Variance::one_pass}) {
        Tensor y = Tensor::empty(DType::f32, {kRows});
        for (int64_t r = 0; r < kRows; ++r)
          y.data_as<float>()[r] = variance_of(x.data_as<float>() + r * n, n, kind);
        for (int64_t r = 0; root && r < kRows; ++r)
          y.data_as<float>()[r] = std::sqrt(std::max(y.data_as<float>()[r], 0.f));
        const fiel::Comparison c = compared(e, y, NumericsClass::fp32);
        if (kind != Variance::one_pass) {
          EXPECT_TRUE(c.accepted()) << n << ": " << c.reason({kRows}) << " worst " << c.worst_ratio
                                    << " rms " << c.rms_error / c.rms_limit;
        } else if (GetParam() >= 300) {
          EXPECT_FALSE(c.accepted()) << n << ": " << c.worst_ratio;
        }
      }
    }
}

Tensor softmax(const Tensor& x) {
  const int64_t rows = x.shape()[0], n = x.shape()[1];
  Tensor y = Tensor::empty(DType::f32, {rows, n});
  for (int64_t r = 0; r < rows; ++r) {
    const float* v = x.data_as<float>() + r * n;
    float largest = v[0], sum = 0;
    for (int64_t i = 0; i < n; ++i) largest = std::max(largest, v[i]);
    for (int64_t i = 0; i < n; ++i) sum += std::exp(v[i] - largest);
    for (int64_t i = 0; i < n; ++i) y.data_as<float>()[r * n + i] = std::exp(v[i] - largest) / sum;
  }
  return y;
}

TEST_P(NormOffsets, SoftmaxOverTwoToFourColumnsToo) {
  constexpr int64_t kRows = 2048;
  for (int64_t n : {2, 3, 4})
    for (double deviation : {0.01, 1.0, 8.0}) {
      auto at = make_instance("y = softmax(x, dim=1)", {{"x", {DType::f32, {kRows, n}}}});
      ASSERT_NE(at, nullptr);
      const Tensor x = normal({kRows, n}, 10, GetParam(), deviation);
      const fiel::Comparison c = compared(expect_on(at, {x}), softmax(x), NumericsClass::fp32);
      EXPECT_TRUE(c.accepted()) << n << ": " << c.reason({kRows, n}) << " worst " << c.worst_ratio;
    }
}

TEST(Softmax, IsAcceptedOnEveryScaleAndZerosNever) {
  for (double mean : {0.0, 1000.0})
    for (double scale : {0.01, 1.0, 30.0, 256.0}) {
      auto at = make_instance("y = softmax(x, dim=1)", {{"x", {DType::f32, {17, 511}}}});
      const Tensor x = normal({17, 511}, 8, mean, scale);
      const Expectation e = expect_on(at, {x});
      const fiel::Comparison c = compared(e, softmax(x), NumericsClass::fp32);
      EXPECT_TRUE(c.accepted()) << mean << " " << scale << ": " << c.worst_ratio;
      EXPECT_FALSE(
          compared(e, Tensor::empty(DType::f32, {17, 511}), NumericsClass::fp32).accepted());
    }
}

TEST(Softmax, ZerosAreWrongWhereTheAnswerIsFarBelowAnyAbsoluteTolerance) {
  auto at = make_instance("y = softmax(x, dim=1)", {{"x", {DType::f32, {2, 131072}}}});
  const Tensor x = normal({2, 131072}, 8);
  const Expectation e = expect_on(at, {x});
  Tensor partly = softmax(x);
  for (int64_t i = 1311; i < 131072; ++i) partly.data_as<float>()[i] = 0;
  const fiel::Comparison zeros =
      compared(e, Tensor::empty(DType::f32, {2, 131072}), NumericsClass::fp32);
  EXPECT_GT(zeros.failing, 260'000);
  EXPECT_GT(zeros.expected_first, 1e-8);
  EXPECT_GT(compared(e, partly, NumericsClass::fp32).failing, 125'000);
  EXPECT_TRUE(compared(e, softmax(x), NumericsClass::fp32).accepted());
}

Tensor gelu(const Tensor& x, bool exact) {
  Tensor y = Tensor::empty(DType::f32, x.shape());
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float v = x.data_as<float>()[i];
    y.data_as<float>()[i] =
        exact ? 0.5f * v * (1 + std::erf(v * 0.70710678f))
              : 0.5f * v * (1 + std::tanh(0.79788456f * (v + 0.044715f * v * v * v)));
  }
  return y;
}

TEST(Gelu, TheUsualFormulaPassesWhereItCancelsAndTheApproximationFails) {
  auto at = make_instance("y = gelu(x)", {{"x", {DType::f32, {33, 65}}}});
  for (double mean : {0.0, -6.0, -1000.0, 20.0})
    for (double scale : {1.0, 0.01, 100.0}) {
      const Tensor x = normal({33, 65}, 9, mean, scale);
      const Expectation e = expect_on(at, {x});
      const fiel::Comparison c = compared(e, gelu(x, true), NumericsClass::fp32);
      EXPECT_TRUE(c.accepted()) << mean << " " << scale << ": " << c.worst_ratio;
    }
  const Tensor x = normal({33, 65}, 9);
  const Expectation e = expect_on(at, {x});
  EXPECT_FALSE(compared(e, gelu(x, false), NumericsClass::fp32).accepted());
  EXPECT_FALSE(compared(e, gelu(x, false), NumericsClass::tf32).accepted())
      << "a task without products has no class tf32";
}

TEST(Compare, NaNWhereTheReferenceIsFiniteIsWrong) {
  auto at = make_instance("y = x * 2", {{"x", {DType::f32, {4}}}});
  const Tensor x = Tensor::from_f64(DType::f32, {4}, std::vector<double>{1, 2, 3, 4});
  const Expectation e = expect_on(at, {x});
  const Tensor y = Tensor::from_f64(DType::f32, {4}, std::vector<double>{2, 4, NAN, 8});
  const fiel::Comparison c = compared(e, y, NumericsClass::fp32);
  EXPECT_EQ(c.failing, 1);
  EXPECT_EQ(c.first_failing, 2);
  EXPECT_EQ(c.expected_first, 6);
}

TEST(Compare, ReluThatDropsNaNLosesASpecialValue) {
  auto at = make_instance("y = relu(x)", {{"x", {DType::f32, {4}}}});
  const Tensor x =
      Tensor::from_f64(DType::f32, {4}, std::vector<double>{NAN, 2, -INFINITY, INFINITY});
  const Expectation e = expect_on(at, {x});
  EXPECT_FALSE(e.finite());
  const Tensor lost = Tensor::from_f64(DType::f32, {4}, std::vector<double>{0, 2, 0, INFINITY});
  const Tensor kept = Tensor::from_f64(DType::f32, {4}, std::vector<double>{NAN, 2, 0, INFINITY});
  const fiel::Comparison c = compared(e, lost, NumericsClass::fp32);
  EXPECT_EQ(c.failing, 1);
  EXPECT_TRUE(std::isnan(c.expected_first));
  EXPECT_TRUE(compared(e, kept, NumericsClass::fp32).accepted());
}

TEST(Compare, WhereNoInputIsNanAnInfinityAnswersInfinityMinusInfinity) {
  auto at = make_instance("y = sum(x * w, dim=1)",
                          {{"x", {DType::f32, {2, 2}}}, {"w", {DType::f32, {2, 2}}}});
  ASSERT_NE(at, nullptr);
  const Tensor w = Tensor::from_f64(DType::f32, {2, 2}, std::vector<double>{1, -1, 1, 1});
  const Tensor answer = Tensor::from_f64(DType::f32, {2}, std::vector<double>{INFINITY, 2});
  const auto with = [&](double first, double second) {
    return expect_on(
        at, {Tensor::from_f64(DType::f32, {2, 2}, std::vector<double>{first, second, 1, 1}), w});
  };
  EXPECT_TRUE(compared(with(INFINITY, INFINITY), answer, NumericsClass::fp32).accepted());
  EXPECT_FALSE(compared(with(INFINITY, NAN), answer, NumericsClass::fp32).accepted());
}

TEST(Compare, ATieOfAnArgmaxIsTheFirstIndexAsInPyTorch) {
  auto at = make_instance("y = argmax(x, dim=1)", {{"x", {DType::f32, {2, 3}}}});
  ASSERT_NE(at, nullptr);
  const Tensor x = Tensor::from_f64(DType::f32, {2, 3}, std::vector<double>{1, 1, 1, 0, 5, 1});
  const Expectation e = expect_on(at, {x});
  const Tensor first = Tensor::from_f64(DType::i64, {2}, std::vector<double>{0, 1});
  const Tensor last = Tensor::from_f64(DType::i64, {2}, std::vector<double>{2, 2});
  EXPECT_TRUE(compared(e, first, NumericsClass::fp32).accepted());
  EXPECT_EQ(compared(e, last, NumericsClass::fp32).failing, 2);
}

}  // namespace
}  // namespace fiel::judge
