// How far the approximations are from the truth, over every mantissa (and for halves every value).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "bench_warp.h"
#include "operands.h"
#include "soft_float.h"

namespace fiel::vgpu::alu {
namespace {

using Reference = double (*)(double);

class Function {
 public:
  explicit Function(const std::string& text) {
    Result<Parsed> parsed = parse_one(text);
    EXPECT_TRUE(parsed) << text;
    EXPECT_NE(bench_.prepare(*parsed).handler, nullptr) << text;
  }
  // f(bits) for 32 values at once.
  template <typename Visit>
  void sweep(uint64_t first, uint64_t count, uint64_t step, Visit visit) {
    for (uint64_t n = 0; n < count; n += kLanes) {
      for (int i = 0; i < kLanes; ++i)
        bench_.set_source(0, i, first + (n + static_cast<uint64_t>(i)) * step);
      bench_.run(kFullMask);
      for (int i = 0; i < kLanes; ++i) visit(bench_.source(0, i), bench_.destination(i));
    }
  }

 private:
  Bench bench_;
};

double ulp_of(double reference) {  // of binary32 at `reference`
  const double magnitude = std::fabs(reference);
  const int exponent = magnitude < 0x1p-126 ? -126 : std::ilogb(magnitude);
  return std::ldexp(1.0, exponent - 23);
}
float as_float(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

struct Worst {
  double ulp = 0, absolute = 0;
  float at = 0;
  void see(float x, float got, double reference) {
    const double error = std::fabs(static_cast<double>(got) - reference);
    if (error / ulp_of(reference) > ulp) {
      ulp = error / ulp_of(reference);
      at = x;
    }
    absolute = std::max(absolute, error);
  }
};

// `stride` 1 visits every mantissa; tests use a prime stride to stay short, and the whole sweep is
// what `--gtest_also_run_disabled_tests` does.
Worst measure(const std::string& text, Reference reference, float from, float to, uint64_t stride) {
  Function function(text);
  const auto first = std::bit_cast<uint32_t>(from), last = std::bit_cast<uint32_t>(to);
  Worst worst;
  function.sweep(first, (last - first) / stride, stride, [&](uint64_t x, uint64_t y) {
    worst.see(as_float(x), as_float(y), reference(static_cast<double>(as_float(x))));
  });
  return worst;
}

struct Bound {
  const char* text;
  Reference reference;
  float from, to;  // of one sign
  double ulp, absolute;
};
double rsqrt(double x) { return 1.0 / std::sqrt(x); }
double rcp(double x) { return 1.0 / x; }
const Bound kBounds[] = {
    {"ex2.approx.f32 %f0, %f1;", [](double x) { return std::exp2(x); }, 0x1p-30f, 127.99f, 1.0,
     1e99},
    {"ex2.approx.f32 %f0, %f1;", [](double x) { return std::exp2(x); }, -0x1p-30f, -149.0f, 1.0,
     1e99},
    {"lg2.approx.f32 %f0, %f1;", [](double x) { return std::log2(x); }, 0x1p-149f, 0x1p127f, 1.0,
     1e99},
    {"sin.approx.f32 %f0, %f1;", [](double x) { return std::sin(x); }, 0x1p-20f, 0x1p40f, 1.0,
     0x1p-24},
    {"cos.approx.f32 %f0, %f1;", [](double x) { return std::cos(x); }, 0x1p-20f, 0x1p40f, 1.0,
     0x1p-24},
    {"sin.approx.f32 %f0, %f1;", [](double x) { return std::sin(x); }, -0x1p-20f, -0x1p127f, 1.0,
     0x1p-24},
    {"tanh.approx.f32 %f0, %f1;", [](double x) { return std::tanh(x); }, 0x1p-140f, 20.0f, 2049.0,
     1e99},
    {"rsqrt.approx.f32 %f0, %f1;", rsqrt, 0x1p-149f, 0x1p127f, 0.51, 1e99},
    {"rcp.approx.f32 %f0, %f1;", rcp, 0x1p-126f, 0x1p127f, 0.51, 1e99},
    {"sqrt.approx.f32 %f0, %f1;", [](double x) { return std::sqrt(x); }, 0x1p-149f, 0x1p127f, 0.51,
     1e99},
};

void check_bounds(uint64_t stride) {
  for (const Bound& b : kBounds) {
    const Worst worst = measure(b.text, b.reference, b.from, b.to, stride);
    std::printf("%-28s [%g, %g]: %.3f ulp at %a, %.3g absolute\n", b.text, b.from, b.to, worst.ulp,
                worst.at, worst.absolute);
    EXPECT_LE(worst.ulp, b.ulp) << b.text << " at " << worst.at;
    EXPECT_LE(worst.absolute, b.absolute) << b.text;
  }
}

TEST(Approximations, StayWithinTheirBounds) { check_bounds(3001); }
TEST(Approximations, DISABLED_StayWithinTheirBoundsForEveryValue) { check_bounds(1); }

TEST(Approximations, Exp2IsExactAtIntegers) {
  Function exp2("ex2.approx.f32 %f0, %f1;");
  for (int n = -149; n < 128; ++n)
    exp2.sweep(std::bit_cast<uint32_t>(static_cast<float>(n)), 1, 0,
               [&](uint64_t, uint64_t y) { ASSERT_EQ(as_float(y), std::ldexp(1.0f, n)); });
}

// Halves: all 65,536 values; within one ulp of the half, special values exact.
TEST(Approximations, HalvesOfExp2AndTanh) {
  struct Case {
    const char* text;
    Reference reference;
    bool bf16;
  };
  const Case cases[] = {
      {"ex2.approx.f16 %e0, %e1;", [](double x) { return std::exp2(x); }, false},
      {"ex2.approx.ftz.bf16 %g0, %g1;", [](double x) { return std::exp2(x); }, true},
      {"tanh.approx.f16 %e0, %e1;", [](double x) { return std::tanh(x); }, false},
      {"tanh.approx.bf16 %g0, %g1;", [](double x) { return std::tanh(x); }, true},
  };
  for (const Case& c : cases) {
    const model::Format& f = c.bf16 ? model::kBf16 : model::kF16;
    const auto real = [&](uint64_t bits) {
      const model::Soft x = model::decode(bits, f);
      if (x.nan()) return std::nan("");
      const double m =
          x.infinite() ? INFINITY : std::ldexp(static_cast<double>(x.mantissa), x.exponent);
      return x.negative ? -m : m;
    };
    Function function(c.text);
    function.sweep(0, 65536, 1, [&](uint64_t x, uint64_t y) {
      const double reference = c.reference(real(x)), got = real(y);
      if (std::isnan(reference)) {
        ASSERT_EQ(y, 0x7fffu) << c.text << x;
        return;
      }
      const int exponent =
          std::max(reference == 0 ? f.min_exponent : std::ilogb(reference), f.min_exponent);
      const double ulp = std::ldexp(1.0, std::min(exponent, f.max_exponent) - f.precision + 1);
      if (std::isinf(got) || std::isinf(reference)) {
        ASSERT_TRUE(got == reference || std::fabs(reference) > std::ldexp(1.99, f.max_exponent));
        return;
      }
      // .ftz gives zero below the normal range.
      if (c.bf16 && std::fabs(reference) < 0x1p-126) return;
      ASSERT_LE(std::fabs(got - reference), ulp) << c.text << " of " << real(x);
    });
  }
}

TEST(Approximations, PackedHalvesAreTwoHalves) {
  struct Case {
    const char *packed, *single;
  };
  const Case cases[] = {{"ex2.approx.f16x2 %x0, %x1;", "ex2.approx.f16 %e0, %e1;"},
                        {"tanh.approx.f16x2 %x0, %x1;", "tanh.approx.f16 %e0, %e1;"},
                        {"ex2.approx.ftz.bf16x2 %y0, %y1;", "ex2.approx.ftz.bf16 %g0, %g1;"},
                        {"tanh.approx.bf16x2 %y0, %y1;", "tanh.approx.bf16 %g0, %g1;"}};
  for (const Case& c : cases) {
    Function packed(c.packed), single(c.single);
    std::vector<uint32_t> table(65536);
    single.sweep(0, 65536, 1, [&](uint64_t x, uint64_t y) { table[x] = static_cast<uint32_t>(y); });
    packed.sweep(0x12345678, 40000, 0x10001 * 37, [&](uint64_t x, uint64_t y) {
      ASSERT_EQ(y, table[x & 0xffff] | table[x >> 16 & 0xffff] << 16) << c.packed;
    });
  }
}

TEST(Approximations, DoublePrecision) {
  Function rsqrt64("rsqrt.approx.f64 %d0, %d1;");
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const double x = std::ldexp(1.0 + static_cast<double>(random.next() >> 12) * 0x1p-52,
                                static_cast<int>(random.below(2000)) - 1000);
    rsqrt64.sweep(std::bit_cast<uint64_t>(x), 1, 0, [&](uint64_t, uint64_t y) {
      const double got = std::bit_cast<double>(y);
      const long double want = 1.0L / std::sqrt(static_cast<long double>(x));
      ASSERT_LE(std::fabs(static_cast<double>((got - want) / want)), 0x1p-51) << x;
    });
  }
  // The "gross" forms see and give the upper word only.
  Function rcp64("rcp.approx.ftz.f64 %d0, %d1;");
  rcp64.sweep(std::bit_cast<uint64_t>(3.0) | 0xffffffffu, 1, 0, [](uint64_t, uint64_t y) {
    EXPECT_EQ(y & 0xffffffffu, 0u);
    EXPECT_NEAR(std::bit_cast<double>(y), 1.0 / 3.0, 1e-6);
  });
}

}  // namespace
}  // namespace fiel::vgpu::alu
