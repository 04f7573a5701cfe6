#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tensor/convert.h"

namespace fiel {
namespace {

/// A format described in words only; values come from ldexp, rounding from a search over all
/// values, so that nothing is shared with the code under test.
struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits;
  bool has_infinity;  ///< else only all ones is NaN
};
const Format kFormats[] = {{DType::f16, 5, 10, true},
                           {DType::bf16, 8, 7, true},
                           {DType::e5m2, 5, 2, true},
                           {DType::e4m3, 4, 3, false}};

uint32_t code_count(const Format& f) { return 1u << (f.exponent_bits + f.mantissa_bits + 1); }

/// Value of a code; codes beyond the largest finite one get the value that they would have, which
/// is what rounding compares against.
double model_magnitude(const Format& f, uint32_t code) {
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  int exponent = static_cast<int>(code >> f.mantissa_bits);
  int mantissa = static_cast<int>(code & ((1u << f.mantissa_bits) - 1));
  if (exponent == 0) return std::ldexp(mantissa, 1 - bias - f.mantissa_bits);
  return std::ldexp((1 << f.mantissa_bits) + mantissa, exponent - bias - f.mantissa_bits);
}

uint32_t first_special(const Format& f) {
  uint32_t magnitudes = code_count(f) / 2;
  return f.has_infinity ? magnitudes - (1u << f.mantissa_bits) : magnitudes - 1;
}

/// Nearest code by binary search over the ordered magnitudes; ties to the even code. Distances are
/// compared in long double, which holds every difference here exactly enough to order them.
uint32_t model_round(const Format& f, double v) {
  uint32_t sign = std::signbit(v) ? code_count(f) / 2 : 0;
  long double a = std::fabs(v);
  uint32_t special = first_special(f);
  if (!(a < model_magnitude(f, special))) return sign | special;
  uint32_t low = 0, high = special;  // value(low) <= a < value(high)
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (model_magnitude(f, middle) <= a ? low : high) = middle;
  }
  long double below = a - model_magnitude(f, low), above = model_magnitude(f, high) - a;
  bool up = above < below || (above == below && (high & 1) == 0);
  return sign | (up ? high : low);
}

uint32_t narrow(const Format& f, double v) {
  uint32_t code = 0;
  store_from_f64(f.dtype, &code, v);
  return code;
}
double widen(const Format& f, uint32_t code) { return load_as_f64(f.dtype, &code); }

TEST(DType, WidensEveryCodeOfEverySmallFormat) {
  for (const Format& f : kFormats) {
    for (uint32_t code = 0; code < code_count(f); ++code) {
      uint32_t magnitude = code % (code_count(f) / 2);
      double v = widen(f, code);
      EXPECT_EQ(std::signbit(v), code >= code_count(f) / 2) << name_of(f.dtype) << " " << code;
      if (magnitude < first_special(f))
        EXPECT_EQ(std::fabs(v), model_magnitude(f, magnitude)) << name_of(f.dtype) << " " << code;
      else if (f.has_infinity && magnitude == first_special(f))
        EXPECT_TRUE(std::isinf(v));
      else
        EXPECT_TRUE(std::isnan(v));
    }
  }
}

TEST(DType, EveryCodeThatIsNoSignallingNanSurvivesTheRoundTrip) {
  for (const Format& f : kFormats) {
    for (uint32_t code = 0; code < code_count(f); ++code) {
      uint32_t magnitude = code % (code_count(f) / 2);
      uint32_t expected = code;
      if (f.has_infinity && magnitude > first_special(f)) expected |= 1u << (f.mantissa_bits - 1);
      EXPECT_EQ(narrow(f, widen(f, code)), expected) << name_of(f.dtype) << " " << code;
    }
  }
}

TEST(DType, RoundsToNearestEvenAtEveryBoundaryBetweenNeighbours) {
  for (const Format& f : kFormats) {
    for (uint32_t code = 0; code < first_special(f); ++code) {
      double low = model_magnitude(f, code), high = model_magnitude(f, code + 1);
      double tie = low + (high - low) / 2;
      uint32_t even = (code & 1) ? code + 1 : code;
      uint32_t half = code_count(f) / 2;
      ASSERT_EQ(narrow(f, tie), even) << name_of(f.dtype) << " tie above " << code;
      ASSERT_EQ(narrow(f, std::nextafter(tie, 0)), code);
      ASSERT_EQ(narrow(f, std::nextafter(tie, 1e300)), code + 1);
      ASSERT_EQ(narrow(f, -tie), half | even);
      ASSERT_EQ(narrow(f, -std::nextafter(tie, 1e300)), half | (code + 1));
    }
  }
}

TEST(DType, RandomDoublesRoundAsTheSearchSays) {
  std::mt19937_64 random(20260101);
  for (const Format& f : kFormats) {
    for (int i = 0; i < 20000; ++i) {
      int bias = (1 << (f.exponent_bits - 1)) - 1;
      int e = static_cast<int>(random() % static_cast<uint64_t>(2 * bias + 40)) - bias - 20;
      double v = std::ldexp(static_cast<double>(random() | 1) * 0x1p-64, e);
      if (random() & 1) v = -v;
      ASSERT_EQ(narrow(f, v), model_round(f, v)) << name_of(f.dtype) << " " << v;
    }
  }
}

TEST(DType, HalfRoundsWithCarryAsTheHardwareDoes) {
  struct Case {
    uint32_t f32;
    uint16_t f16;
  } cases[] = {{0x3DFFFFFF, 0x3000}, {0x3D7FF000, 0x2C00}, {0x477FEFFF, 0x7BFF},
               {0x477FF000, 0x7C00}, {0x33000000, 0},      {0x33000001, 1}};
  for (const Case& c : cases)
    EXPECT_EQ(f64_to_f16(std::bit_cast<float>(c.f32)), c.f16) << std::hex << c.f32;
  // Every float in [0.0624, 0.0626] against the search over all halves.
  for (uint32_t b = std::bit_cast<uint32_t>(0.0624f); b <= std::bit_cast<uint32_t>(0.0626f); ++b) {
    float v = std::bit_cast<float>(b);
    ASSERT_EQ(f64_to_f16(v), model_round(kFormats[0], v)) << std::hex << b;
  }
}

TEST(DType, RoundsOnceNotThroughFloat) {
  // Just above the tie between 1 and the next half: through f32 the excess is lost and the tie
  // goes down.
  double v = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(f64_to_f16(v), 0x3C01);
  EXPECT_EQ(f64_to_f16(static_cast<double>(static_cast<float>(v))), 0x3C00);
  EXPECT_EQ(f64_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3F81);
}

TEST(DType, Float8FollowsOcpAndPyTorchAtTheTop) {
  EXPECT_EQ(f64_to_e4m3(448), 0x7E);
  EXPECT_EQ(f64_to_e4m3(464), 0x7E);       // tie, to even
  EXPECT_EQ(f64_to_e4m3(464.0001), 0x7F);  // NaN: there is no infinity
  EXPECT_EQ(f64_to_e4m3(1e300), 0x7F);
  EXPECT_EQ(f64_to_e4m3(-std::numeric_limits<double>::infinity()), 0xFF);
  EXPECT_EQ(f64_to_e5m2(57344), 0x7B);
  EXPECT_EQ(f64_to_e5m2(61439.9), 0x7B);
  EXPECT_EQ(f64_to_e5m2(61440), 0x7C);  // tie to even: infinity
  EXPECT_EQ(f64_to_e5m2(-1e300), 0xFC);
}

TEST(DType, Tf32KeepsTenMantissaBitsAndTheRangeOfF32) {
  EXPECT_EQ(std::bit_cast<uint32_t>(f64_to_tf32(1 + 0x1p-11)), 0x3F800000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(f64_to_tf32(1 + 0x1p-11 + 0x1p-50)), 0x3F802000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(f64_to_tf32(1 + 3 * 0x1p-11)), 0x3F804000u);
  EXPECT_TRUE(std::isinf(f64_to_tf32(std::numeric_limits<float>::max())));
  EXPECT_EQ(f64_to_tf32(0x1p-149), 0);
  EXPECT_EQ(f64_to_tf32(0x1p-136), 0x1p-136f);
  EXPECT_TRUE(std::isnan(f64_to_tf32(std::numeric_limits<double>::quiet_NaN())));
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    double v = std::ldexp(static_cast<double>(random() | 1) * 0x1p-64,
                          static_cast<int>(random() % 200) - 100);
    double quantum = std::ldexp(1, std::ilogb(v) - 10);
    ASSERT_EQ(f64_to_tf32(v), std::nearbyint(v / quantum) * quantum) << v;
  }
}

TEST(DType, IntegersTruncateAndBoolsTestForZero) {
  int32_t i = 0;
  store_from_f64(DType::i32, &i, -2.9);
  EXPECT_EQ(i, -2);
  store_from_f64(DType::i32, &i, -2147483648.5);
  EXPECT_EQ(i, std::numeric_limits<int32_t>::min());
  uint8_t u = 0;
  store_from_f64(DType::u8, &u, 257);
  EXPECT_EQ(u, 1);
  store_from_f64(DType::u8, &u, -1);
  EXPECT_EQ(u, 255);
  store_from_f64(DType::boolean, &u, 0.25);
  EXPECT_EQ(u, 1);
  store_from_f64(DType::boolean, &u, -0.0);
  EXPECT_EQ(u, 0);
  int64_t l = 0;
  store_from_f64(DType::i64, &l, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(l, std::numeric_limits<int64_t>::min());
  u = 7;
  EXPECT_EQ(load_as_f64(DType::boolean, &u), 1.0);
}

TEST(DType, NamesReadBackAndUnknownOnesDoNot) {
  for (int i = 0; i < kDTypeCount; ++i) {
    auto t = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name_of(t)), t);
  }
  EXPECT_FALSE(parse_dtype("float32"));
  EXPECT_FALSE(parse_dtype(""));
}

TEST(DType, UnitRoundoffIsHalfTheGapAboveOne) {
  for (const Format& f : kFormats)
    EXPECT_EQ(unit_roundoff(f.dtype), std::ldexp(0.5, -f.mantissa_bits));
  EXPECT_EQ(unit_roundoff(DType::f32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(DType::i32), 0);
}

TEST(Convert, BulkAgreesWithSingleElementsForEveryPairOfTypes) {
  const double values[] = {0,   -0.0, 1,      -1,     0.5,    3.75,   -127.9, 126, 255, 447,
                           0.1, 1e-7, 65519., 65520., -448.0, 1e-300, 300,    -3,  2,   100.5};
  constexpr int64_t n = std::size(values);
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      auto a = static_cast<DType>(from), b = static_cast<DType>(to);
      alignas(8) std::byte source[n * 8], bulk[n * 8], single[n * 8];
      from_f64(values, n, a, source);
      convert(a, source, b, bulk, n);
      for (int64_t i = 0; i < n; ++i)
        store_from_f64(b, single + i * size_of(b), load_as_f64(a, source + i * size_of(a)));
      EXPECT_EQ(std::memcmp(bulk, single, static_cast<size_t>(n * size_of(b))), 0)
          << name_of(a) << " to " << name_of(b);
    }
  }
}

TEST(Convert, LongIntegersKeepTheirLowBits) {
  int64_t big = (int64_t{1} << 60) + 3;
  int64_t copy = 0;
  convert(DType::i64, &big, DType::i64, &copy, 1);
  EXPECT_EQ(copy, big);
  int32_t low = 0;
  convert(DType::i64, &big, DType::i32, &low, 1);
  EXPECT_EQ(low, 3);
}

TEST(Convert, MillionsOfElementsOnAllCoresAgreeWithOneAtATime) {
  const int64_t n = (1 << 20) + 37;
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i)) * 300);
  std::vector<uint16_t> h(n);
  convert(DType::f32, x.data(), DType::bf16, h.data(), n);
  for (int64_t i = 0; i < n; i += 97) ASSERT_EQ(h[i], f64_to_bf16(x[i]));
  std::vector<double> d(n);
  to_f64(DType::bf16, h.data(), n, d.data());
  for (int64_t i = 0; i < n; i += 97) ASSERT_EQ(d[i], bf16_to_f64(h[i]));
}

}  // namespace
}  // namespace fiel
