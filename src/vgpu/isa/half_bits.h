// f16 and bf16 lanes to and from f32, 32 lanes at a time.
//
// f16 -> f32 and bf16 -> f32 are exact. The way back is one correctly rounded conversion; callers
// that computed in f32 must have rounded to odd there, or know that double rounding is harmless
// (24 >= 2 * 11 + 2 makes it so for one add, subtract, multiply or divide).
#pragma once

#include "vgpu/isa/float_bits.h"

namespace fiel::vgpu::FIEL_ISA {

inline constexpr uint32_t kHalfNan = 0x7fffu;  // canonical NaN of both f16 and bf16

/// 32 floats in a register-friendly array.
struct alignas(32) FloatLanes {
  float at[kLanes];
};

/// Halves `shift` bits up in each word (0 or 16).
[[gnu::always_inline]] inline void load_f16(FloatLanes& to, const uint32_t* from, int shift) {
  for (int v = 0; v < 4; ++v) {
    __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 8 * v));
    x = shift ? _mm256_srli_epi32(x, 16) : _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm256_store_ps(to.at + 8 * v, _mm256_cvtph_ps(packed));
  }
}
[[gnu::always_inline]] inline void load_bf16(FloatLanes& to, const uint32_t* from, int shift) {
  for (int i = 0; i < kLanes; ++i)
    to.at[i] = float_of(shift ? from[i] & 0xffff0000u : from[i] << 16);
}

/// Rounds to f16 by the instruction's own control (0 nearest, 1 down, 2 up, 3 toward zero); NaN
/// becomes canonical.
template <int control>
[[gnu::always_inline]] inline void f16_bits(uint32_t* to, const FloatLanes& from) {
  for (int v = 0; v < 4; ++v) {
    const __m256 x = _mm256_load_ps(from.at + 8 * v);
    const __m256i h = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, control));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 8 * v),
                       _mm256_blendv_epi8(h, _mm256_set1_epi32(static_cast<int>(kHalfNan)), nan));
  }
}

/// Round to nearest even on the upper half; overflow carries into infinity by itself.
[[gnu::always_inline]] inline uint32_t bf16_of(float x) {
  const uint32_t b = bits_of_float(x);
  const uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  return x != x ? kHalfNan : rounded;
}
[[gnu::always_inline]] inline void bf16_bits(uint32_t* to, const FloatLanes& from) {
  for (int i = 0; i < kLanes; ++i) to[i] = bf16_of(from.at[i]);
}

/// Subnormal f16 values (seen as f32) become zero of the same sign.
[[gnu::always_inline]] inline float flush_f16(float x) {
  const uint32_t b = bits_of_float(x);
  return float_of((b & 0x7fffffffu) < 0x38800000u ? b & 0x80000000u : b);
}

/// s = a + b rounded to odd in binary32 (TwoSum's error is exact: no overflow for f16 products).
[[gnu::always_inline]] inline float add_odd(float a, float b) {
  const float s = a + b;
  const float t = s - a;
  const float e = (a - (s - t)) + (b - t);
  const uint32_t bits = bits_of_float(s);
  // e and s of the same sign: |s| was rounded down, the odd neighbour is one up; else one down.
  const uint32_t neighbour = ((bits_of_float(e) ^ bits) & 0x80000000u) == 0 ? bits + 1 : bits - 1;
  const bool inexact = (e < 0.0f) | (e > 0.0f);  // false for NaN (infinite operands)
  return float_of(inexact & ((bits & 1u) == 0) ? neighbour : bits);
}
[[gnu::always_inline]] inline double add_odd(double a, double b) {
  const double s = a + b;
  const double t = s - a;
  const double e = (a - (s - t)) + (b - t);
  const uint64_t bits = bits_of_double(s);
  const uint64_t neighbour =
      ((bits_of_double(e) ^ bits) & 0x8000000000000000ull) == 0 ? bits + 1 : bits - 1;
  const bool inexact = (e < 0.0) | (e > 0.0);
  return double_of(inexact & ((bits & 1u) == 0) ? neighbour : bits);
}

}  // namespace fiel::vgpu::FIEL_ISA
