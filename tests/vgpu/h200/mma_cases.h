// Operands of mma.sync that show how a tensor core rounds: every form that sm_90 has, each with
// patterns (mixed magnitudes, cancellation, subnormals, infinities, …) and seeds.
//
//   Operands x = make_operands(kForms[i], Pattern::cancel, seed);   // registers of 32 lanes
//
// Plain C++ without dependencies, as nvcc (mma_vectors.cu, on a GPU) and the tests (against
// golden/mma_sm90.txt) both include it: the same seeds give the same operands on both sides.
// Changing anything here makes the golden file stale.
#pragma once

#include <cstdint>

namespace mma_cases {

enum class El : uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8, s4, u4, b1, f64, f32, s32 };

struct Form {
  const char* ptx;  // after "mma.sync.aligned."
  int m, k;
  El a, b, c;  // d is of c's type
  bool satfinite, and_popc;
  int na, nb, nc;  // registers
};

// X(ptx, m, k, a, b, c, satfinite, and_popc, na, nb, nc)
#define MMA_FP8_FORMS(X, A, B)                                                  \
  X("m16n8k16.row.col.f32." #A "." #B ".f32", 16, 16, A, B, f32, 0, 0, 2, 1, 4) \
  X("m16n8k32.row.col.f32." #A "." #B ".f32", 16, 32, A, B, f32, 0, 0, 4, 2, 4) \
  X("m16n8k16.row.col.f16." #A "." #B ".f16", 16, 16, A, B, f16, 0, 0, 2, 1, 2) \
  X("m16n8k32.row.col.f16." #A "." #B ".f16", 16, 32, A, B, f16, 0, 0, 4, 2, 2)
#define MMA_INT_FORMS(X, A, B, K1, K2)                                                         \
  X("m8n8k" #K1 ".row.col.s32." #A "." #B ".s32", 8, K1, A, B, s32, 0, 0, 1, 1, 2)             \
  X("m16n8k" #K1 ".row.col.s32." #A "." #B ".s32", 16, K1, A, B, s32, 0, 0, 2, 1, 4)           \
  X("m16n8k" #K2 ".row.col.s32." #A "." #B ".s32", 16, K2, A, B, s32, 0, 0, 4, 2, 4)           \
  X("m8n8k" #K1 ".row.col.satfinite.s32." #A "." #B ".s32", 8, K1, A, B, s32, 1, 0, 1, 1, 2)   \
  X("m16n8k" #K1 ".row.col.satfinite.s32." #A "." #B ".s32", 16, K1, A, B, s32, 1, 0, 2, 1, 4) \
  X("m16n8k" #K2 ".row.col.satfinite.s32." #A "." #B ".s32", 16, K2, A, B, s32, 1, 0, 4, 2, 4)
#define MMA_B1_FORMS(X, OP, AND)                                                           \
  X("m8n8k128.row.col.s32.b1.b1.s32." #OP ".popc", 8, 128, b1, b1, s32, 0, AND, 1, 1, 2)   \
  X("m16n8k128.row.col.s32.b1.b1.s32." #OP ".popc", 16, 128, b1, b1, s32, 0, AND, 2, 1, 4) \
  X("m16n8k256.row.col.s32.b1.b1.s32." #OP ".popc", 16, 256, b1, b1, s32, 0, AND, 4, 2, 4)
#define MMA_FORMS(X)                                                              \
  X("m16n8k8.row.col.f32.f16.f16.f32", 16, 8, f16, f16, f32, 0, 0, 2, 1, 4)       \
  X("m16n8k16.row.col.f32.f16.f16.f32", 16, 16, f16, f16, f32, 0, 0, 4, 2, 4)     \
  X("m16n8k8.row.col.f16.f16.f16.f16", 16, 8, f16, f16, f16, 0, 0, 2, 1, 2)       \
  X("m16n8k16.row.col.f16.f16.f16.f16", 16, 16, f16, f16, f16, 0, 0, 4, 2, 2)     \
  X("m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, bf16, bf16, f32, 0, 0, 2, 1, 4)   \
  X("m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, bf16, bf16, f32, 0, 0, 4, 2, 4) \
  X("m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, tf32, tf32, f32, 0, 0, 2, 1, 4)   \
  X("m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, tf32, tf32, f32, 0, 0, 4, 2, 4)   \
  MMA_FP8_FORMS(X, e4m3, e4m3)                                                    \
  MMA_FP8_FORMS(X, e4m3, e5m2)                                                    \
  MMA_FP8_FORMS(X, e5m2, e4m3)                                                    \
  MMA_FP8_FORMS(X, e5m2, e5m2)                                                    \
  MMA_INT_FORMS(X, s8, s8, 16, 32)                                                \
  MMA_INT_FORMS(X, s8, u8, 16, 32)                                                \
  MMA_INT_FORMS(X, u8, s8, 16, 32)                                                \
  MMA_INT_FORMS(X, u8, u8, 16, 32)                                                \
  MMA_INT_FORMS(X, s4, s4, 32, 64)                                                \
  MMA_INT_FORMS(X, s4, u4, 32, 64)                                                \
  MMA_INT_FORMS(X, u4, s4, 32, 64)                                                \
  MMA_INT_FORMS(X, u4, u4, 32, 64)                                                \
  MMA_B1_FORMS(X, xor, 0)                                                         \
  MMA_B1_FORMS(X, and, 1)                                                         \
  X("m8n8k4.row.col.f64.f64.f64.f64", 8, 4, f64, f64, f64, 0, 0, 1, 1, 2)         \
  X("m16n8k4.row.col.f64.f64.f64.f64", 16, 4, f64, f64, f64, 0, 0, 2, 1, 4)       \
  X("m16n8k8.row.col.f64.f64.f64.f64", 16, 8, f64, f64, f64, 0, 0, 4, 2, 4)       \
  X("m16n8k16.row.col.f64.f64.f64.f64", 16, 16, f64, f64, f64, 0, 0, 8, 4, 4)

inline constexpr Form kForms[] = {
#define X(ptx, m, k, a, b, c, sat, and_popc, na, nb, nc) \
  {ptx, m, k, El::a, El::b, El::c, sat != 0, and_popc != 0, na, nb, nc},
    MMA_FORMS(X)
#undef X
};
inline constexpr int kFormCount = sizeof(kForms) / sizeof(kForms[0]);

enum class Pattern : uint8_t {
  near,         // exponents within a few of each other
  wide,         // over 40 binades, or all there are
  full,         // the whole range, subnormals too
  large_c,      // c far above the products
  small_c,      // c far below
  cancel,       // products cancel in pairs, up to a last bit
  subnormal,    // factors at and below the smallest normal
  zeros,        // zero times large beside small products
  special,      // some infinities and NaN
  raw,          // random bits
  overflow,     // sums about the largest number
  signed_zero,  // all products are zeros, c too
  threshold,    // terms about 25 binades below the largest
  integers,     // small integers: exact
  underflow,    // products about the smallest subnormal of the result
  extremes,     // integers: smallest, largest
  saturating,   // integers: c about the limits
  kCount
};
inline constexpr const char* kPatternNames[] = {
    "near",      "wide",     "full",      "large_c",  "small_c",   "cancel",
    "subnormal", "zeros",    "special",   "raw",      "overflow",  "signed_zero",
    "threshold", "integers", "underflow", "extremes", "saturating"};
inline constexpr int kSeeds = 64;
inline constexpr int kSeedsPerHash = 16;

constexpr bool is_integer(El t) {
  return t == El::s8 || t == El::u8 || t == El::s4 || t == El::u4 || t == El::b1 || t == El::s32;
}
constexpr int bits_of(El t) {
  return t == El::f16 || t == El::bf16                                  ? 16
         : t == El::e4m3 || t == El::e5m2 || t == El::s8 || t == El::u8 ? 8
         : t == El::s4 || t == El::u4                                   ? 4
         : t == El::b1                                                  ? 1
         : t == El::f64                                                 ? 64
                                                                        : 32;
}
constexpr bool applies(const Form& f, Pattern p) {
  if (f.a == El::b1) return p == Pattern::raw;
  if (is_integer(f.a)) {
    return p == Pattern::raw || p == Pattern::extremes || p == Pattern::saturating;
  }
  return p < Pattern::extremes;
}

struct FloatFormat {
  int exponent_bits, fraction_bits;  // of the container
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int smallest() const { return 1 - bias(); }
  int largest() const { return bias(); }
};
inline FloatFormat format_of(El t) {
  switch (t) {
    case El::f16:
      return {5, 10};
    case El::bf16:
      return {8, 7};
    case El::e4m3:
      return {4, 3};
    case El::e5m2:
      return {5, 2};
    case El::f64:
      return {11, 52};
    default:
      return {8, 23};  // f32, and tf32 with all 23 bits: the hardware drops 13
  }
}

inline uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// sign · 1.fraction · 2^e in the format, subnormal below its range, finite above.
inline uint64_t encode(El t, bool negative, int e, uint64_t random) {
  const FloatFormat f = format_of(t);
  uint64_t fraction = random & ((uint64_t{1} << f.fraction_bits) - 1);
  uint64_t biased = 0;
  if (t == El::e4m3 && e >= 8) {  // 1.75 · 2^8 is the largest: its last code is NaN
    e = 8;
    if (fraction == 7) fraction = 6;
  }
  const int largest = t == El::e4m3 ? 8 : f.largest();
  if (e > largest) e = largest;
  if (e < f.smallest()) {
    const int shift = f.smallest() - e;
    fraction = shift > f.fraction_bits ? 0 : (fraction | uint64_t{1} << f.fraction_bits) >> shift;
  } else {
    biased = static_cast<uint64_t>(e + f.bias());
  }
  return (negative ? uint64_t{1} << (f.exponent_bits + f.fraction_bits) : 0) |
         biased << f.fraction_bits | fraction;
}
inline uint64_t zero(El t, bool negative) {
  const FloatFormat f = format_of(t);
  return negative ? uint64_t{1} << (f.exponent_bits + f.fraction_bits) : 0;
}
inline uint64_t infinity_or_nan(El t, bool negative, bool nan, uint64_t random) {
  const FloatFormat f = format_of(t);
  if (t == El::e4m3) return zero(t, negative) | 0x7f;
  uint64_t fraction = 0;
  if (nan) {
    fraction = random & ((uint64_t{1} << f.fraction_bits) - 1);
    if (fraction == 0) fraction = 1;
  }
  return zero(t, negative) | ((uint64_t{1} << f.exponent_bits) - 1) << f.fraction_bits | fraction;
}
// An integer up to 15 in magnitude, exact in every format.
inline uint64_t small_integer(El t, int value) {
  if (value == 0) return 0;
  const int magnitude = value < 0 ? -value : value;
  const int e = magnitude >= 8 ? 3 : magnitude >= 4 ? 2 : magnitude >= 2 ? 1 : 0;
  const FloatFormat f = format_of(t);
  const uint64_t rest = static_cast<uint64_t>(magnitude - (1 << e));
  const uint64_t fraction =
      f.fraction_bits >= e ? rest << (f.fraction_bits - e) : rest >> (e - f.fraction_bits);
  return encode(t, value < 0, e, fraction);
}

inline int between(uint64_t h, int low, int high) {  // inclusive
  return low + static_cast<int>((h >> 8) % static_cast<uint64_t>(high - low + 1));
}

// Operand 0 = A(row, k), 1 = B(k, column), 2 = C(row, column); `k` tells the term, or is -1.
inline uint64_t float_element(El t, Pattern p, int operand, uint64_t h, uint64_t term_hash, int i,
                              int j) {
  const FloatFormat f = format_of(t);
  const bool negative = (h & 1) != 0;
  const uint64_t fraction = mix(h);
  const int k = operand == 0 ? j : i;
  const bool wide_format = f.exponent_bits >= 8;
  const bool is_c = operand == 2;
  switch (p) {
    case Pattern::near:
      return encode(t, negative, between(h, -3, 3), fraction);
    case Pattern::wide: {
      const int reach = wide_format ? 20 : 40;
      return encode(t, negative,
                    between(h, -reach > f.smallest() ? -reach : f.smallest(),
                            reach < f.largest() ? reach : f.largest()),
                    fraction);
    }
    case Pattern::full:
      return encode(t, negative, between(h, f.smallest() - f.fraction_bits, f.largest()), fraction);
    case Pattern::large_c:
      return encode(t, negative, is_c ? between(h, 4, 26) : between(h, -3, 3), fraction);
    case Pattern::small_c:
      return encode(t, negative, is_c ? between(h, -32, -4) : between(h, -3, 3), fraction);
    case Pattern::cancel: {
      if (is_c) return encode(t, negative, between(h, -24, 0), fraction);
      // Terms 2i and 2i+1 share their factors but for a sign, and now and then a last bit.
      const uint64_t shared = term_hash;
      uint64_t value = encode(t, (shared & 1) != 0, between(shared, -4, 4), mix(shared));
      if (operand == 0 && k % 2 == 1) value ^= zero(t, true);
      if (operand == 1 && k % 2 == 1 && h % 5 == 0) value ^= 1;
      return value;
    }
    case Pattern::subnormal:
      if (is_c) {
        return h % 3 == 0 ? 0 : encode(t, negative, between(h, -40, f.smallest() + 4), fraction);
      }
      return encode(t, negative,
                    operand == 0 ? between(h, f.smallest() - f.fraction_bits, f.smallest() + 2)
                                 : between(h, f.smallest() - 2, wide_format ? 40 : f.largest()),
                    fraction);
    case Pattern::zeros: {
      if (is_c) return h % 3 == 0 ? 0 : encode(t, negative, between(h, -40, -10), fraction);
      const bool zero_term = (term_hash >> 20) % 2 == 0;
      const bool zero_side = (term_hash >> 30) % 2 == static_cast<uint64_t>(operand);
      if (zero_term && zero_side) return zero(t, negative);
      return encode(t, negative,
                    zero_term ? f.largest() - between(h, 0, 4)
                              : between(h, f.smallest() / 2 - 6, f.smallest() / 2 + 4),
                    fraction);
    }
    case Pattern::special:
      if ((h >> 40) % 48 == 0) return infinity_or_nan(t, negative, (h >> 50) % 2 != 0, fraction);
      if ((h >> 40) % 48 == 1) return zero(t, negative);
      return encode(t, negative, between(h, -3, 3), fraction);
    case Pattern::overflow:
      if (is_c) return encode(t, negative, f.largest() - between(h, 0, 3), fraction);
      return encode(t, negative, wide_format ? between(h, 61, 64) : f.largest() - between(h, 0, 9),
                    fraction);
    case Pattern::signed_zero:
      if (is_c)
        return h % 4 == 0 ? encode(t, negative, f.smallest() - 1, fraction) : zero(t, negative);
      if (operand == 0) return zero(t, i % 2 == 0 ? negative : i % 4 == 1);
      return encode(t, i % 8 < 4 ? false : negative, between(h, -3, 3), fraction);
    case Pattern::threshold:
      if (is_c) return encode(t, negative, between(h, 0, 2), h % 2 ? 0 : fraction);
      return encode(t, (term_hash & 3) == 0 && operand == 0, between(h, -14, -11),
                    h % 4 ? 0 : fraction);
    case Pattern::integers:
      return small_integer(t, between(h, -8, 8));
    case Pattern::underflow:
      if (is_c) return h % 2 ? zero(t, negative) : encode(t, negative, f.smallest() - 3, fraction);
      return encode(t, negative, wide_format ? between(h, -75, -62) : between(h, -15, -9),
                    fraction);
    default:
      return h;  // raw
  }
}

inline uint64_t integer_element(El t, Pattern p, uint64_t h) {
  if (t == El::s32) {
    if (p != Pattern::saturating) return h & 0xffffffffu;
    const uint64_t near = (h >> 8) % 4096;
    return (h & 1 ? 0x7fffffffu - near : 0x80000000u + near) & 0xffffffffu;
  }
  if (p == Pattern::raw) return h;
  const uint64_t sign = uint64_t{1} << (bits_of(t) - 1);
  return (h >> 7) % 2 ? sign : sign - 1 + ((h >> 9) % 2 ? sign : 0);
}

struct Operands {
  uint64_t a[8][32], b[4][32], c[4][32];  // registers; 32-bit ones in the low half
};

inline uint64_t element(const Form& f, El t, Pattern p, uint64_t seed, int operand, int i, int j) {
  const uint64_t key = mix(seed * 64 + static_cast<uint64_t>(p)) ^
                       mix(static_cast<uint64_t>(f.m * 1000 + f.k) * 64 +
                           static_cast<uint64_t>(f.a) * 16 + static_cast<uint64_t>(f.b));
  const uint64_t h = mix(key ^ mix(static_cast<uint64_t>(operand) << 40 |
                                   static_cast<uint64_t>(i) << 20 | static_cast<uint64_t>(j)));
  uint64_t value;
  if (is_integer(t)) {
    value = integer_element(t, p, h);
  } else {
    // Shared by the two terms of a pair, and by the factors of a term where a pattern asks.
    const int k = operand == 0 ? j : i;
    const bool pairs = p == Pattern::cancel;
    const uint64_t who = pairs ? static_cast<uint64_t>(operand * 64 + (operand == 0 ? i : j)) : 99;
    const uint64_t term =
        mix(key ^ mix(0x7e57u + who * 1024 + static_cast<uint64_t>(pairs ? k / 2 : k)));
    value = float_element(t, p, operand, h, term, i, j);
  }
  return bits_of(t) == 64 ? value : value & ((uint64_t{1} << bits_of(t)) - 1);
}

// Packs a matrix into registers as PTX's mma.sync fragments lie: lane = 4·group + thread.
inline Operands make_operands(const Form& f, Pattern p, uint64_t seed) {
  Operands x = {};
  const int blocks = f.m / 8;
  const int per = f.a == El::f64 ? 1 : 32 / bits_of(f.a);
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, thread = lane % 4;
    for (int s = 0; s < per; ++s) {
      for (int r = 0; r < f.na; ++r) {
        const int row = group + 8 * (r % blocks), k = r / blocks * 4 * per + thread * per + s;
        x.a[r][lane] |= element(f, f.a, p, seed, 0, row, k) << (s * bits_of(f.a) % 64);
      }
      for (int r = 0; r < f.nb; ++r) {
        const int k = r * 4 * per + thread * per + s;
        x.b[r][lane] |= element(f, f.b, p, seed, 1, k, group) << (s * bits_of(f.b) % 64);
      }
    }
    for (int r = 0; r < f.nc; ++r) {
      if (f.c == El::f16) {
        for (int s = 0; s < 2; ++s) {
          x.c[r][lane] |= element(f, f.c, p, seed, 2, group + 8 * r, 2 * thread + s) << (16 * s);
        }
      } else {
        x.c[r][lane] = element(f, f.c, p, seed, 2, group + 8 * (r / 2), 2 * thread + r % 2);
      }
    }
  }
  return x;
}

inline uint64_t hash_result(uint64_t h, const Form& f, const uint64_t (&d)[4][32]) {
  for (int r = 0; r < f.nc; ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      h = (h ^ d[r][lane]) * 0x100000001b3u;
      h ^= h >> 29;
    }
  }
  return h;
}

}  // namespace mma_cases
