// Floating-point formats narrower than f64 by arithmetic on bits, written without branches so that
// loops over them vectorise. Private to tensor/.
//
// Narrowing rounds once, from the double (f64 -> f32 -> f16 would round twice and lose ties).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace fiel::detail {

/// How a format spends its top exponent.
enum class Top : uint8_t {
  ieee,      ///< infinity and NaNs
  e4m3_nan,  ///< OCP e4m3fn: only all ones is NaN, there is no infinity
};

template <int kExponentBits, int kMantissaBits, Top kTop = Top::ieee>
struct SmallFloat {
  static constexpr int kShift = 52 - kMantissaBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint64_t kSignBit = uint64_t{1} << (kExponentBits + kMantissaBits);
  static constexpr uint64_t kAllOnes = kSignBit - 1;
  static constexpr uint64_t kInfinity = ((uint64_t{1} << kExponentBits) - 1) << kMantissaBits;
  static constexpr uint64_t kQuiet = uint64_t{1} << (kMantissaBits - 1);
  static constexpr uint64_t kDoubleInfinity = uint64_t{0x7FF} << 52;
  static constexpr uint64_t kRebias = static_cast<uint64_t>(1023 - kBias) << 52;

  /// 2^e as a double, e in the normal range.
  static constexpr double power_of_two(int e) {
    return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52);
  }
  /// Distance between subnormals: 2^(1 - bias - mantissa bits).
  static constexpr double kQuantum = power_of_two(1 - kBias - kMantissaBits);

  static constexpr uint64_t narrow(double v) {
    const uint64_t bits = std::bit_cast<uint64_t>(v);
    const uint64_t sign = (bits >> 63) << (kExponentBits + kMantissaBits);
    const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
    // Normal: move the exponent, add half a unit less one plus the last kept bit (ties to even). A
    // carry out of the mantissa runs into the exponent, which is just what rounding up needs.
    const uint64_t moved = magnitude - kRebias;
    const uint64_t odd = (moved >> kShift) & 1;
    const uint64_t normal = (moved + ((uint64_t{1} << (kShift - 1)) - 1) + odd) >> kShift;
    // Subnormal: adding 2^52 quanta makes the FPU round to a whole number of quanta, ties to even.
    constexpr double kMagic = power_of_two(1 - kBias - kMantissaBits + 52);
    const bool tiny = magnitude < ((uint64_t{1} << 52) + kRebias);
    const double small = std::bit_cast<double>(tiny ? magnitude : 0);
    const uint64_t subnormal =
        std::bit_cast<uint64_t>(small + kMagic) - std::bit_cast<uint64_t>(kMagic);
    uint64_t code = tiny ? subnormal : normal;
    if constexpr (kTop == Top::ieee) {
      code = !tiny && code > kInfinity ? kInfinity : code;
      const uint64_t payload = (magnitude >> kShift) & (kQuiet - 1);
      code = magnitude > kDoubleInfinity ? (kInfinity | kQuiet | payload) : code;
    } else {
      code = !tiny && code > kAllOnes ? kAllOnes : code;  // infinities and NaN too
    }
    return sign | code;
  }

  static constexpr double widen(uint64_t code) {
    const uint64_t sign = (code & kSignBit) << (63 - kExponentBits - kMantissaBits);
    const uint64_t magnitude = code & kAllOnes;
    const double subnormal = static_cast<double>(static_cast<int64_t>(magnitude)) * kQuantum;
    uint64_t bits = (magnitude << kShift) + kRebias;
    bits = magnitude < (uint64_t{1} << kMantissaBits) ? std::bit_cast<uint64_t>(subnormal) : bits;
    if constexpr (kTop == Top::ieee)
      bits = magnitude >= kInfinity ? (kDoubleInfinity | (magnitude << kShift)) : bits;
    else
      bits = magnitude == kAllOnes ? (kDoubleInfinity | (uint64_t{1} << 51)) : bits;
    return std::bit_cast<double>(sign | bits);
  }
};

using F16 = SmallFloat<5, 10>;
using Bf16 = SmallFloat<8, 7>;
using Tf32 = SmallFloat<8, 10>;
using E5m2 = SmallFloat<5, 2>;
using E4m3 = SmallFloat<4, 3, Top::e4m3_nan>;

/// Truncates towards zero; NaN and what does not fit become the smallest i64, as the x86 and the
/// PyTorch cast do, but without undefined behaviour.
constexpr int64_t to_i64(double v) {
  return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : std::numeric_limits<int64_t>::min();
}

}  // namespace fiel::detail
