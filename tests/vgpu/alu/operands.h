// Operand values that find mistakes: edges of each type, values near them, related pairs, and
// uniform bits. Deterministic, and plain C++ without dependencies: the program that records vectors
// on a real GPU (tests/vgpu/h200) makes the same values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace fiel::vgpu::alu {

/// What a register holds, by the first letter of its name in a template:
///   p predicate, h 16-bit integer, r 32-bit, l 64-bit, s small 32-bit (a shift, a lane),
///   e f16, g bf16, x f16x2, y bf16x2, f f32, d f64
using Class = char;

constexpr uint32_t bits_of_class(Class c) {
  return c == 'p' ? 1 : c == 'h' || c == 'e' || c == 'g' ? 16 : c == 'l' || c == 'd' ? 64 : 32;
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t state_;
};

constexpr uint64_t hash_text(std::string_view text) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

struct FloatShape {
  int stored, exponent_bits;
  int bits() const { return 1 + stored + exponent_bits; }
};
constexpr FloatShape shape_of_class(Class c) {
  return c == 'e' || c == 'x'   ? FloatShape{10, 5}
         : c == 'g' || c == 'y' ? FloatShape{7, 8}
         : c == 'd'             ? FloatShape{52, 11}
                                : FloatShape{23, 8};
}

inline uint64_t float_value(Random& random, FloatShape f) {
  const uint64_t one = uint64_t{1}, stored = static_cast<uint64_t>(f.stored);
  const uint64_t exponent_mask = (one << f.exponent_bits) - 1, fraction_mask = (one << stored) - 1;
  const uint64_t bias = exponent_mask >> 1;
  const uint64_t sign = (random.next() & 1u) << (f.bits() - 1);
  const auto make = [&](uint64_t exponent, uint64_t fraction) {
    return sign | (exponent & exponent_mask) << stored | (fraction & fraction_mask);
  };
  switch (random.below(16)) {
    case 0:
      return sign;  // zero
    case 1:
      return make(exponent_mask, random.below(3) ? 0 : random.next() | 1);  // infinity, NaN
    case 2:
      return make(0, random.below(2) ? one << random.below(stored) : random.next());  // subnormal
    case 3:
      return make(0, fraction_mask - random.below(2));
    case 4:
      return make(1, random.below(3));
    case 5:
      return make(exponent_mask - 1, fraction_mask - random.below(3));  // largest
    case 6:
      return make(bias + random.below(3) - 1, random.below(3) - 1);  // around 1
    case 7:                                                          // n + 1/2, n small
      return make(bias + random.below(8), random.next() << (stored - random.below(stored)));
    case 8:  // near the ends of integer types
      return make(bias + (uint64_t[]){7, 8, 15, 16, 31, 32, 63, 64}[random.below(8)],
                  random.below(3) - 1);
    case 9:
      return make(random.below(exponent_mask), one << random.below(stored));
    case 10:
    case 11:  // moderate exponents: sums that interact
      return make(bias + random.below(2 * stored) - stored, random.next());
    case 12:
      return make(random.below(4) + 1, random.next());  // just above subnormal
    default:
      return random.next() & (sign | ((one << (f.bits() - 1)) - 1) | one << (f.bits() - 1));
  }
}

inline uint64_t integer_value(Random& random, uint32_t bits) {
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  switch (random.below(10)) {
    case 0:
      return random.below(4) & all;
    case 1:
      return (0 - random.below(4)) & all;
    case 2:
      return (all >> 1) + random.below(3) - 1 + (random.below(2) ? 1 : 0);
    case 3:
      return uint64_t{1} << random.below(bits);
    case 4:
      return (uint64_t{1} << random.below(bits)) - 1;
    case 5:
      return random.below(100);
    case 6:
      return (random.next() & all) >> random.below(bits);
    default:
      return random.next() & all;
  }
}

/// Lane values of one source register. `previous` are the source before it (or null): some lanes
/// are made close to it, so that comparisons tie and sums cancel.
inline uint64_t operand_value(Random& random, Class c, const uint64_t* previous) {
  const uint32_t bits = bits_of_class(c);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (previous && random.below(8) == 0 && c != 's' && c != 'p') {
    const uint64_t sign = random.below(3) == 0 ? uint64_t{1} << (bits - 1) : 0;
    return ((*previous + random.below(3) - 1) ^ sign) & all;
  }
  switch (c) {
    case 'p':
      return random.next() & 1u;
    case 's':
      return random.below(8) ? random.below(70) : random.next() & all;
    case 'e':
    case 'g':
    case 'f':
    case 'd':
      return float_value(random, shape_of_class(c)) & all;
    case 'x':
    case 'y':
      return (float_value(random, shape_of_class(c)) << 16 & 0xffff0000u) |
             (float_value(random, shape_of_class(c)) & 0xffffu);
    default:
      return integer_value(random, bits);
  }
}

}  // namespace fiel::vgpu::alu
