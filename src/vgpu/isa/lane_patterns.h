// Questions about 32 lanes at once. Included by isa/*.cpp only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "vgpu/warp.h"

namespace fiel::vgpu::FIEL_ISA {

#define FIEL_INLINE [[gnu::always_inline]] inline

/// Lanes whose 64-bit value is base + lane * stride.
FIEL_INLINE uint32_t lanes_in_sequence(const uint64_t* values, uint64_t base, uint64_t stride) {
#ifdef __AVX512F__
  const __m512i step = _mm512_set1_epi64(static_cast<long long>(8 * stride));
  __m512i expect =
      _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(base)),
                       _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
                                          _mm512_set1_epi64(static_cast<long long>(stride))));
  uint32_t mask = 0;
  for (int i = 0; i < 4; ++i) {
    mask |=
        static_cast<uint32_t>(_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(values + 8 * i), expect))
        << (8 * i);
    expect = _mm512_add_epi64(expect, step);
  }
  return mask;
#else
  const auto s = static_cast<long long>(stride);
  const __m256i step = _mm256_set1_epi64x(4 * s);
  __m256i expect = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(base)),
                                    _mm256_set_epi64x(3 * s, 2 * s, s, 0));
  uint32_t mask = 0;
  for (int i = 0; i < 8; ++i) {
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 4 * i));
    mask |= static_cast<uint32_t>(
                _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(value, expect))))
            << (4 * i);
    expect = _mm256_add_epi64(expect, step);
  }
  return mask;
#endif
}

FIEL_INLINE uint32_t lanes_in_sequence(const uint32_t* values, uint32_t base, uint32_t stride) {
  const auto s = static_cast<int>(stride);
  const __m256i step = _mm256_set1_epi32(8 * s);
  __m256i expect =
      _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(base)),
                       _mm256_set_epi32(7 * s, 6 * s, 5 * s, 4 * s, 3 * s, 2 * s, s, 0));
  uint32_t mask = 0;
  for (int i = 0; i < 4; ++i) {
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8 * i));
    mask |= static_cast<uint32_t>(
                _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(value, expect))))
            << (8 * i);
    expect = _mm256_add_epi32(expect, step);
  }
  return mask;
}

FIEL_INLINE int first_lane(uint32_t mask) { return __builtin_ctz(mask); }
FIEL_INLINE int last_lane(uint32_t mask) { return 31 - __builtin_clz(mask); }

/// for_lanes(mask, [&](int lane) { … }), lowest first.
template <typename F>
FIEL_INLINE void for_lanes(uint32_t mask, F&& body) {
  while (mask != 0) {
    body(__builtin_ctz(mask));
    mask &= mask - 1;
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
