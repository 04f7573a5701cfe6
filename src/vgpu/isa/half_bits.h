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
  settle();
}
[[gnu::always_inline]] inline void load_bf16(FloatLanes& to, const uint32_t* from, int shift) {
  for (int i = 0; i < kLanes; ++i)
    to.at[i] = float_of(shift ? from[i] & 0xffff0000u : from[i] << 16);
}

/// Rounds to f16 by the instruction's own control (0 nearest, 1 down, 2 up, 3 toward zero); NaN
/// becomes canonical.
template <int control>
[[gnu::always_inline]] inline void f16_bits(uint32_t* to, const FloatLanes& from) {
  settle();
  for (int v = 0; v < 4; ++v) {
    const __m256 x = _mm256_load_ps(from.at + 8 * v);
    const __m256i h = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, control));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 8 * v),
                       _mm256_blendv_epi8(h, _mm256_set1_epi32(static_cast<int>(kHalfNan)), nan));
  }
  settle();
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

/// s = a + b rounded to odd (TwoSum's error is exact: half products do not overflow). Bit
/// arithmetic throughout, or GCC does not vectorise it.
template <typename T>
[[gnu::always_inline]] inline T add_odd(T a, T b) {
  using S = Slot<T>;
  constexpr int kTop = 8 * sizeof(S) - 1;
  constexpr S kTwiceInfinity = sizeof(S) == 4 ? S{0xff000000u} : static_cast<S>(0xffe0ull << 48);
  const T s = a + b;
  const T t = s - a;
  const T e = (a - (s - t)) + (b - t);
  const S bits = pack<T>(s), error = pack<T>(e);
  // Finite and not zero; NaN comes from infinite operands.
  const S inexact = static_cast<S>(error << 1) - 1 < kTwiceInfinity - 1 ? S{1} : S{0};
  // Error and sum of the same sign: |s| was rounded down, the odd neighbour is one up; else down.
  const S step = S{1} - static_cast<S>(((error ^ bits) >> kTop) << 1);
  const S move = inexact & ~bits & S{1};
  return unpack<T>(bits + (step & (S{0} - move)));
}

/// 32 doubles to floats, rounded to odd: the last bit says "inexact", so that a second rounding, to
/// at most 22 bits, gives what one rounding would (Boldo and Melquiond 2008).
[[gnu::always_inline]] inline void to_floats_odd(FloatLanes& to, const double* from) {
  settle();
  const __m256d magnitude = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7fffffffffffffffll));
  const auto narrow = [](__m256d mask) {  // the low word of each 64-bit mask
    return _mm_castps_si128(_mm_shuffle_ps(_mm256_castps256_ps128(_mm256_castpd_ps(mask)),
                                           _mm256_extractf128_ps(_mm256_castpd_ps(mask), 1), 0x88));
  };
  for (int v = 0; v < kLanes / 4; ++v) {
    const __m256d x = _mm256_load_pd(from + 4 * v);
    const __m128 f = _mm256_cvtpd_ps(x);
    const __m256d back = _mm256_cvtps_pd(f);
    const __m256d larger =
        _mm256_cmp_pd(_mm256_and_pd(back, magnitude), _mm256_and_pd(x, magnitude), _CMP_GT_OQ);
    const __m256d inexact = _mm256_cmp_pd(back, x, _CMP_NEQ_OQ);
    const __m128i bits = _mm_add_epi32(_mm_castps_si128(f), narrow(larger));  // minus one
    const __m128i odd = _mm_or_si128(bits, _mm_srli_epi32(narrow(inexact), 31));
    _mm_store_ps(to.at + 4 * v, _mm_castsi128_ps(odd));
  }
  settle();
}

}  // namespace fiel::vgpu::FIEL_ISA
