// A random word as a number from 0 to 1, exactly representable and below 1.
//
//   double share = unit_interval(derive_seed(seed, purpose));
#pragma once

#include <cstdint>

namespace fiel {

/// In [0, 1): the upper 53 bits of the word.
inline constexpr double unit_interval(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace fiel
