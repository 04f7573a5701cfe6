// The error model against emulated kernels: what honest arithmetic must pass and what must not.
// Sensitivities are written out by hand here, so that the model is checked apart from the
// perturbed evaluation that task/ derives them with.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tensor/compare.h"
#include "tensor/random.h"

namespace fiel {
namespace {

std::vector<float> draw_f32(std::string_view text, int64_t n, uint64_t stream) {
  Tensor t = *generate(*parse_distribution(text), DType::f32, {n}, {2026, stream});
  return {t.data_as<float>(), t.data_as<float>() + n};
}

Comparison check(const Shape& shape, const std::vector<double>& reference,
                 const std::vector<double>& actual, ErrorModel model,
                 const std::vector<double>& sensitivity = {}) {
  if (!sensitivity.empty()) model.sensitivity = Tensor::from_f64(DType::f64, shape, sensitivity);
  Result<Comparison> c = compare(Tensor::from_f64(DType::f64, shape, reference),
                                 Tensor::from_f64(model.output, shape, actual), model);
  EXPECT_TRUE(c) << (c ? "" : to_string(c.error()));
  if (testing::GTEST_FLAG(print_time) && std::getenv("FIEL_SHOW"))
    std::printf("  %-4s ratio %-10.3g rms/limit %-10.3g class %s\n", c->accepted() ? "ok" : "BAD",
                c->worst_ratio, c->rms_error / c->rms_limit, name_of(c->numerics).data());
  return *c;
}

// ---- sums ------------------------------------------------------------------------------------

float sequential(const float* x, int64_t n) {
  float s = 0;
  for (int64_t i = 0; i < n; ++i) s += x[i];
  return s;
}
float pairwise(const float* x, int64_t n) {
  if (n <= 32) return sequential(x, n);
  return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}
float kahan(const float* x, int64_t n) {
  float s = 0, c = 0;
  for (int64_t i = 0; i < n; ++i) {
    float y = x[i] - c, t = s + y;
    c = (t - s) - y;
    s = t;
  }
  return s;
}

struct SumCase {
  std::vector<double> reference, sensitivity;
  std::vector<float> x;
  int64_t rows, n;
  ErrorModel model() const { return {.reduction_length = static_cast<double>(n)}; }
  Comparison judge(const std::function<float(const float*, int64_t)>& kernel) const {
    std::vector<double> actual;
    for (int64_t r = 0; r < rows; ++r) actual.push_back(kernel(x.data() + r * n, n));
    return check({rows}, reference, actual, model(), sensitivity);
  }
};

SumCase sum_case(std::string_view distribution, int64_t rows, int64_t n) {
  SumCase c{.rows = rows, .n = n};
  c.x = draw_f32(distribution, rows * n, static_cast<uint64_t>(n));
  for (int64_t r = 0; r < rows; ++r) {
    double s = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      double v = c.x[static_cast<size_t>(r * n + i)];
      s += v;
      squares += v * v;
    }
    c.reference.push_back(s);
    c.sensitivity.push_back(std::sqrt(squares + s * s));
  }
  return c;
}

float dropping(const float* x, int64_t n) {
  return pairwise(x, n - std::max<int64_t>(1, n / 1000));
}

TEST(ErrorModel, AcceptsEveryHonestOrderOfASumOfZeroMeanData) {
  for (auto [rows, n] :
       {std::pair<int64_t, int64_t>{4096, 64}, {256, 4096}, {2, 262144}, {1, 1 << 24}}) {
    SumCase c = sum_case("normal", rows, n);
    for (const auto& kernel : {sequential, pairwise, kahan}) {
      Comparison r = c.judge(kernel);
      EXPECT_TRUE(r.accepted()) << n << " " << r.reason({rows});
      EXPECT_EQ(r.numerics, NumericsClass::fp32) << n;
    }
  }
}

TEST(ErrorModel, RejectsASumThatDropsOneTermInAThousandAtEveryLength) {
  for (auto [rows, n] :
       {std::pair<int64_t, int64_t>{64, 64}, {32, 4096}, {2, 262144}, {1, 1 << 24}}) {
    EXPECT_FALSE(sum_case("normal", rows, n).judge(dropping).accepted()) << n;
    if (n > 262144) continue;
    EXPECT_FALSE(sum_case("uniform", rows, n).judge(dropping).accepted()) << n;
    EXPECT_FALSE(sum_case("offset(1000, 1)", rows, n).judge(dropping).accepted()) << n;
  }
}

TEST(ErrorModel, AcceptsSumsOfPositiveAndOffsetData) {
  for (auto [rows, n] : {std::pair<int64_t, int64_t>{512, 64}, {256, 4096}, {2, 65536}}) {
    for (const char* text : {"uniform", "offset(1000, 1)"}) {
      SumCase c = sum_case(text, rows, n);
      for (const auto& kernel : {pairwise, kahan})
        EXPECT_TRUE(c.judge(kernel).accepted()) << n << text;
      EXPECT_TRUE(sum_case("uniform", rows, n).judge(sequential).accepted()) << n;
    }
  }
}

TEST(ErrorModel, RepeatedValuesRoundTheSameWayEachTime) {
  for (const char* text : {"constant(0.7)", "constant(-1.1)", "constant(0.3)"}) {
    for (int64_t n : {64, 4096, 262144}) {
      SumCase c = sum_case(text, 4, n);
      std::vector<double> actual;
      for (int64_t r = 0; r < 4; ++r) actual.push_back(sequential(c.x.data() + r * n, n));
      ErrorModel model = c.model();
      model.systematic = true;
      Comparison k = check({4}, c.reference, actual, model, c.sensitivity);
      EXPECT_TRUE(k.accepted()) << text << n << k.reason({4});
    }
  }
}

// ---- softmax ---------------------------------------------------------------------------------

std::vector<double> softmax64(const std::vector<float>& x, int64_t n) {
  std::vector<double> y(x.size());
  for (size_t r = 0; r < x.size(); r += static_cast<size_t>(n)) {
    double m = -1e300, s = 0;
    for (int64_t i = 0; i < n; ++i) m = std::max(m, double{x[r + i]});
    for (int64_t i = 0; i < n; ++i) s += y[r + i] = std::exp(x[r + i] - m);
    for (int64_t i = 0; i < n; ++i) y[r + i] /= s;
  }
  return y;
}

/// One pass with a running maximum, as the fast kernels do it.
std::vector<double> softmax_online(const std::vector<float>& x, int64_t n) {
  std::vector<double> y(x.size());
  for (size_t r = 0; r < x.size(); r += static_cast<size_t>(n)) {
    float m = -INFINITY, s = 0;
    for (int64_t i = 0; i < n; ++i) {
      float v = x[r + i], next = std::max(m, v);
      s = s * std::exp(m - next) + std::exp(v - next);
      m = next;
    }
    for (int64_t i = 0; i < n; ++i) y[r + i] = std::exp(x[r + i] - m) / s;
  }
  return y;
}

std::vector<double> softmax_half_sum(const std::vector<float>& x, int64_t n) {
  std::vector<double> y(x.size());
  for (size_t r = 0; r < x.size(); r += static_cast<size_t>(n)) {
    float m = -INFINITY;
    for (int64_t i = 0; i < n; ++i) m = std::max(m, x[r + i]);
    double lanes[32] = {};
    for (int64_t i = 0; i < n; ++i)
      lanes[i % 32] = f16_to_f64(f64_to_f16(lanes[i % 32] + std::exp(x[r + i] - m)));
    double s = 0;
    for (double lane : lanes) s = f16_to_f64(f64_to_f16(s + lane));
    for (int64_t i = 0; i < n; ++i) y[r + i] = std::exp(x[r + i] - m) / static_cast<float>(s);
  }
  return y;
}

TEST(ErrorModel, SoftmaxOverManyColumnsOnlineIsRightAndZerosAreNot) {
  const int64_t rows = 2, n = 393216;
  std::vector<float> x = draw_f32("uniform", rows * n, 11);
  std::vector<double> y = softmax64(x, n);
  ErrorModel model{.reduction_length = static_cast<double>(n)};
  Comparison online = check({rows, n}, y, softmax_online(x, n), model);
  EXPECT_TRUE(online.accepted()) << online.reason({rows, n});
  EXPECT_EQ(online.numerics, NumericsClass::fp32);
  Comparison zeros = check({rows, n}, y, std::vector<double>(y.size()), model);
  EXPECT_EQ(zeros.failing, rows * n);
  EXPECT_NEAR(zeros.expected_first, 2.5e-6, 2e-6);
  std::vector<double> start = softmax_online(x, n);
  for (size_t i = 0; i < start.size(); ++i)
    if (static_cast<int64_t>(i) % n > n / 100) start[i] = 0;
  EXPECT_FALSE(check({rows, n}, y, start, model).accepted());
}

TEST(ErrorModel, SoftmaxWithAHalfPrecisionSumIsRejected) {
  for (int64_t n : {64, 255, 511, 4096}) {
    for (const char* text : {"normal", "normal(0, 4)"}) {
      std::vector<float> x = draw_f32(text, 32 * n, 12);
      ErrorModel model{.reduction_length = static_cast<double>(n)};
      std::vector<double> y = softmax64(x, n);
      EXPECT_FALSE(check({32, n}, y, softmax_half_sum(x, n), model).accepted()) << n;
      EXPECT_TRUE(check({32, n}, y, softmax_online(x, n), model).accepted()) << n;
    }
  }
}

// ---- layer norm ------------------------------------------------------------------------------

struct NormCase {
  int64_t rows, n;
  std::vector<float> x;
  std::vector<double> y, sensitivity;
};

NormCase norm_case(std::string_view text, int64_t rows, int64_t n) {
  NormCase c{.rows = rows, .n = n, .x = draw_f32(text, rows * n, 21), .y = {}, .sensitivity = {}};
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = c.x.data() + r * n;
    double mean = 0, var = 0, along = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) mean += x[i] / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) var += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
    double inv = 1 / std::sqrt(var + 1e-5);
    for (int64_t j = 0; j < n; ++j) squares += double{x[j]} * x[j];
    for (int64_t j = 0; j < n; ++j) along += std::pow((x[j] - mean) * inv * x[j], 2);
    for (int64_t i = 0; i < n; ++i) {
      double y = (x[i] - mean) * inv;
      // dy_i/dx_j = (delta_ij - 1/n - y_i y_j / n) / sigma, times x_j.
      double own = x[i] * inv, shared = std::sqrt(squares) * inv / static_cast<double>(n),
             scale = y * std::sqrt(along) * inv / static_cast<double>(n);
      c.y.push_back(y);
      c.sensitivity.push_back(std::sqrt(own * own + shared * shared + scale * scale + y * y));
    }
  }
  return c;
}

std::vector<double> norm_welford(const NormCase& c) {
  std::vector<double> out;
  for (int64_t r = 0; r < c.rows; ++r) {
    const float* x = c.x.data() + r * c.n;
    float mean = 0, m2 = 0;
    for (int64_t i = 0; i < c.n; ++i) {
      float d = x[i] - mean;
      mean += d / static_cast<float>(i + 1);
      m2 += d * (x[i] - mean);
    }
    float inv = 1 / std::sqrt(m2 / static_cast<float>(c.n) + 1e-5f);
    for (int64_t i = 0; i < c.n; ++i) out.push_back((x[i] - mean) * inv);
  }
  return out;
}

/// Sums in 32 lanes and a tree, as a warp does it.
float lanes(const float* x, int64_t n, const std::function<float(float)>& f) {
  float lane[32] = {};
  for (int64_t i = 0; i < n; ++i) lane[i % 32] += f(x[i]);
  for (int step = 16; step; step /= 2)
    for (int i = 0; i < step; ++i) lane[i] += lane[i + step];
  return lane[0];
}

std::vector<double> norm_by(const NormCase& c, bool one_pass) {
  std::vector<double> out;
  for (int64_t r = 0; r < c.rows; ++r) {
    const float* x = c.x.data() + r * c.n;
    const auto n = static_cast<float>(c.n);
    float mean = lanes(x, c.n, [](float v) { return v; }) / n;
    float var = one_pass ? lanes(x, c.n, [](float v) { return v * v; }) / n - mean * mean
                         : lanes(x, c.n, [&](float v) { return (v - mean) * (v - mean); }) / n;
    float inv = 1 / std::sqrt(std::max(var, 0.0f) + 1e-5f);
    for (int64_t i = 0; i < c.n; ++i) out.push_back((x[i] - mean) * inv);
  }
  return out;
}

TEST(ErrorModel, WelfordAndTwoPassesAreRightAtAnyOffsetAndOnePassIsNot) {
  for (int64_t n : {255, 768, 4096}) {
    for (const char* text : {"normal", "offset(1000, 1)", "offset(10000, 1)"}) {
      NormCase c = norm_case(text, 16, n);
      ErrorModel model{.reduction_length = static_cast<double>(2 * n)};
      Comparison w = check({16, n}, c.y, norm_welford(c), model, c.sensitivity);
      EXPECT_TRUE(w.accepted()) << text << n << w.reason({16, n});
      Comparison two = check({16, n}, c.y, norm_by(c, false), model, c.sensitivity);
      EXPECT_TRUE(two.accepted()) << text << n << two.reason({16, n});
      bool offset = std::string_view(text) != "normal";
      Comparison one = check({16, n}, c.y, norm_by(c, true), model, c.sensitivity);
      EXPECT_EQ(one.accepted(), !offset) << text << n << " " << one.worst_ratio;
    }
  }
}

// ---- matrix product --------------------------------------------------------------------------

double to_tf32(double v) { return f64_to_tf32(v); }
double to_tf32_truncated(double v) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(v)) & 0xFFFFE000u);
}
double to_bf16(double v) { return bf16_to_f64(f64_to_bf16(v)); }
double to_f16(double v) { return f16_to_f64(f64_to_f16(v)); }
double same(double v) { return v; }

struct MatmulCase {
  int64_t m = 48, n = 40, k;
  std::vector<float> a, b;
  std::vector<double> y, sensitivity;

  MatmulCase(std::string_view text, int64_t length) : k(length) {
    a = draw_f32(text, m * k, 31);
    b = draw_f32(text, n * k, 32);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double s = 0, squares = 0;
        for (int64_t q = 0; q < k; ++q) {
          double p = double{a[i * k + q]} * b[j * k + q];
          s += p;
          squares += p * p;
        }
        y.push_back(s);
        sensitivity.push_back(std::sqrt(2 * squares + s * s));
      }
  }

  /// Operands rounded by one function, partial sums by another, `tile` of K at a time.
  std::vector<double> product(double (*operand)(double), double (*sum)(double),
                              int64_t tile) const {
    std::vector<double> out;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float total = 0;
        for (int64_t t = 0; t < k; t += tile) {
          float s = 0;
          for (int64_t q = t; q < std::min(k, t + tile); ++q)
            s = static_cast<float>(sum(s + static_cast<float>(operand(a[i * k + q])) *
                                               static_cast<float>(operand(b[j * k + q]))));
          total = static_cast<float>(sum(total + s));
        }
        out.push_back(total);
      }
    return out;
  }

  Comparison judge(double (*operand)(double), double (*sum)(double), int64_t tile,
                   NumericsClass lowest) const {
    ErrorModel model{.reduction_length = static_cast<double>(k), .lowest = lowest};
    return check({m, n}, y, product(operand, sum, tile), model, sensitivity);
  }
};

TEST(ErrorModel, ClassifiesMatrixProductsByTheirPrecision) {
  using enum NumericsClass;
  for (int64_t k : {64, 767, 4096}) {
    MatmulCase c("normal", k);
    for (int64_t tile : {int64_t{16}, int64_t{32}, k}) {
      Comparison r = c.judge(same, same, tile, fp32);
      EXPECT_TRUE(r.accepted()) << k << r.reason({c.m, c.n});
      EXPECT_EQ(r.numerics, fp32) << k;
    }
    for (auto* operand : {to_tf32, to_f16, to_tf32_truncated}) {
      EXPECT_FALSE(c.judge(operand, same, 32, fp32).accepted()) << k;
      Comparison r = c.judge(operand, same, 32, tf32);
      EXPECT_TRUE(r.accepted()) << k << r.reason({c.m, c.n});
      EXPECT_EQ(r.numerics, tf32) << k;
    }
    Comparison b = c.judge(to_bf16, same, 32, tf32);
    EXPECT_FALSE(b.accepted()) << k;
    EXPECT_EQ(b.numerics, bf16) << k;
  }
}

TEST(ErrorModel, PositiveDataKeepFp32ProductsInTheirClass) {
  MatmulCase c("uniform", 4096);
  for (int64_t tile : {int64_t{32}, int64_t{4096}}) {
    Comparison r = c.judge(same, same, tile, NumericsClass::fp32);
    EXPECT_TRUE(r.accepted());
    EXPECT_EQ(r.numerics, NumericsClass::fp32);
  }
  // Truncation of positive operands is a bias: 1.4 units of 2^-11 in every element.
  EXPECT_TRUE(c.judge(to_tf32_truncated, same, 32, NumericsClass::tf32).accepted());
}

TEST(ErrorModel, RejectsProductsAccumulatedInHalfPrecision) {
  for (int64_t k : {255, 767, 4096})
    for (auto lowest : {NumericsClass::fp32, NumericsClass::tf32}) {
      MatmulCase c("normal", k);
      EXPECT_FALSE(c.judge(to_f16, to_f16, k, lowest).accepted()) << k;
      EXPECT_FALSE(c.judge(same, to_f16, k, lowest).accepted()) << k;
    }
}

TEST(ErrorModel, Bf16OutputsMayRoundTwiceOrTruncateButNotAccumulate) {
  MatmulCase c("normal", 767);
  ErrorModel model{.output = DType::bf16, .reduction_length = 767};
  auto stored = [&](double (*store)(double), double (*sum)(double)) {
    std::vector<double> v = c.product(same, sum, 32);
    for (double& x : v) x = store(x);
    return check({c.m, c.n}, c.y, v, model, c.sensitivity);
  };
  EXPECT_TRUE(stored(to_bf16, same).accepted());
  EXPECT_EQ(stored(to_bf16, same).numerics, NumericsClass::bf16);
  // Through f16 first: double rounding; toward zero: truncating stores.
  EXPECT_TRUE(stored([](double v) { return to_bf16(to_f16(v)); }, same).accepted());
  EXPECT_TRUE(stored(
                  [](double v) {
                    return double{std::bit_cast<float>(
                        std::bit_cast<uint32_t>(static_cast<float>(v)) & 0xFFFF0000u)};
                  },
                  same)
                  .accepted());
  EXPECT_FALSE(stored(to_bf16, to_bf16).accepted());
}

// ---- elementwise -----------------------------------------------------------------------------

TEST(ErrorModel, GeluByTanhIsNotGelu) {
  std::vector<float> x = draw_f32("normal(0, 2)", 64 * 511, 41);
  std::vector<double> y, exact, tanh_form;
  for (float v : x) {
    y.push_back(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))));
    // As PyTorch's kernel: 1 + erf cancels for negative x, and that is honest.
    exact.push_back(0.5f * v * (1 + std::erf(v * 0.70710678f)));
    tanh_form.push_back(0.5f * v * (1 + std::tanh(0.79788456f * (v + 0.044715f * v * v * v))));
  }
  Comparison e = check({64, 511}, y, exact, {});
  EXPECT_TRUE(e.accepted()) << e.reason({64, 511});
  Comparison t = check({64, 511}, y, tanh_form, {});
  EXPECT_FALSE(t.accepted());
  EXPECT_LT(t.max_abs, 1e-3);  // small enough for the usual absolute tolerances
  EXPECT_GT(t.worst_ratio, 30);
}

TEST(ErrorModel, PlainFormulasOfActivationsPassAndHalfPrecisionOnesDoNot) {
  using Real = std::function<double(double)>;
  using Single = std::function<float(float)>;
  const struct {
    const char* name;
    Real exact;
    Single plain;
  } cases[] = {
      {"softplus", [](double v) { return std::log1p(std::exp(v)); },
       [](float v) { return std::log(1 + std::exp(v)); }},
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); },
       [](float v) { return 1 / (1 + std::exp(-v)); }},
      {"tanh", [](double v) { return std::tanh(v); },
       [](float v) {
         float e = std::exp(2 * v);
         return (e - 1) / (e + 1);
       }},
      {"elu", [](double v) { return v > 0 ? v : std::expm1(v); },
       [](float v) { return v > 0 ? v : std::exp(v) - 1; }},
      {"silu", [](double v) { return v / (1 + std::exp(-v)); },
       [](float v) { return v / (1 + std::exp(-v)); }},
      {"mish", [](double v) { return v * std::tanh(std::log1p(std::exp(v))); },
       [](float v) { return v * std::tanh(std::log(1 + std::exp(v))); }},
  };
  std::vector<float> x = draw_f32("normal(0, 3)", 64 * 255, 42);
  for (const auto& c : cases) {
    std::vector<double> y, plain, half;
    for (float v : x) {
      y.push_back(c.exact(v));
      plain.push_back(c.plain(v));
      half.push_back(to_f16(c.exact(to_f16(v))));
    }
    Comparison p = check({64, 255}, y, plain, {});
    EXPECT_TRUE(p.accepted()) << c.name << p.reason({64, 255}) << " " << p.worst_ratio;
    EXPECT_FALSE(check({64, 255}, y, half, {}).accepted()) << c.name;
  }
}

}  // namespace
}  // namespace fiel
