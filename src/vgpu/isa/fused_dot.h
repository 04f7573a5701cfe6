// The arithmetic of Hopper's HMMA: d = c + Σ a·b as one fused sum, for a tile of up to 16×8×16.
//
//   FusedTile t; begin(t); unpack_a16<false>(t, …); …; multiply<16, 16, false>(t);  // t.out_f32
//
// The rule (MMA-Sim, arXiv 2511.10909, and what an H200 showed beyond it: tests/vgpu/golden): the
// exponent of a product is the sum of its factors' exponents, subnormals having that of the
// smallest normal; with E the largest exponent of c and the products that are not zero, and at
// least -133, each term is truncated towards zero to a multiple of 2^(E-25); the sum of those is
// exact; it is rounded towards zero to f32, or to nearest even to f16. A result of zero is +0.
//
// Every factor is held as f32, which is exact for f16, bf16 and tf32. Truncation is a multiply by
// 2^(25-E) and a convert to int32, both exact while E stays in [-98, 110]; a tile with an infinity,
// a NaN, or a result outside that range takes the scalar path, which has no such limits.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace fiel::vgpu::FIEL_ISA {

inline constexpr int kFractionBits = 25;
inline constexpr int kSmallestFastExponent = -98;
inline constexpr int kLargestFastExponent = 110;
/// Below any sum of exponents, and twice it is still an int16.
inline constexpr int kExponentOfZero = -10000;

struct alignas(64) FusedTile {
  float a[16][16];         ///< [m][k]
  int16_t ea[16][16];      ///< exponents of a
  float b[16][8];          ///< [k][n]
  int16_t eb[8][8][2];     ///< [k/2][n][k%2]
  float c[16][8];          ///< [m][n]
  int32_t ec[16][8];       ///< exponents of c
  int32_t largest[16][8];  ///< E of each output
  float out_f32[16][8];    ///< results; [m][n]
  uint16_t out_f16[16][8];
  __m256i special;  ///< nonzero: some element of a, b or c is infinite or NaN
  __m256i tiny;     ///< nonzero: some nonzero element is below the fast range
};

/// The path without limits: any exponent, infinities, NaN. Fills out_f32 or out_f16.
void multiply_scalar(FusedTile& t, int m, int k, bool f16_result);

namespace detail {

[[gnu::always_inline]] inline __m128i load128(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
[[gnu::always_inline]] inline __m256i load256(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

/// Unbiased exponents of sixteen f16.
[[gnu::always_inline]] inline __m256i exponents_f16(__m256i bits) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(0x7fff));
  const __m256i biased = _mm256_max_epi16(_mm256_srli_epi16(magnitude, 10), _mm256_set1_epi16(1));
  const __m256i zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
  return _mm256_blendv_epi8(_mm256_sub_epi16(biased, _mm256_set1_epi16(15)),
                            _mm256_set1_epi16(kExponentOfZero), zero);
}
[[gnu::always_inline]] inline __m256i exponents_bf16(__m256i bits) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(0x7fff));
  const __m256i biased = _mm256_max_epi16(_mm256_srli_epi16(magnitude, 7), _mm256_set1_epi16(1));
  const __m256i zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
  return _mm256_blendv_epi8(_mm256_sub_epi16(biased, _mm256_set1_epi16(127)),
                            _mm256_set1_epi16(kExponentOfZero), zero);
}
/// Unbiased exponents of eight f32.
[[gnu::always_inline]] inline __m256i exponents_f32(__m256i bits) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i biased = _mm256_max_epi32(_mm256_srli_epi32(magnitude, 23), _mm256_set1_epi32(1));
  const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
  return _mm256_blendv_epi8(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)),
                            _mm256_set1_epi32(kExponentOfZero), zero);
}

[[gnu::always_inline]] inline void note_f16(FusedTile& t, __m256i bits) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(0x7fff));
  t.special = _mm256_or_si256(t.special, _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7bff)));
}
[[gnu::always_inline]] inline void note_bf16(FusedTile& t, __m256i bits) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(0x7fff));
  t.special = _mm256_or_si256(t.special, _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7f7f)));
  // 2^-49: two such factors make 2^-98.
  const __m256i small = _mm256_cmpgt_epi16(_mm256_set1_epi16((127 - 49) << 7), magnitude);
  const __m256i zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
  t.tiny = _mm256_or_si256(t.tiny, _mm256_andnot_si256(zero, small));
}
[[gnu::always_inline]] inline void note_f32(FusedTile& t, __m256i bits, int smallest) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  t.special =
      _mm256_or_si256(t.special, _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7fffff)));
  const __m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32((127 + smallest) << 23), magnitude);
  const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
  t.tiny = _mm256_or_si256(t.tiny, _mm256_andnot_si256(zero, small));
}

[[gnu::always_inline]] inline void widen(float* to, __m128i bits, bool bf16) {
  const __m256 wide = bf16 ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))
                           : _mm256_cvtph_ps(bits);
  _mm256_storeu_ps(to, wide);
}

/// Transposes an 8×8 matrix of 16-bit values; row i of the result in r[i].
[[gnu::always_inline]] inline void transpose16(const __m128i (&x)[8], __m128i (&r)[8]) {
  __m128i p[8], q[8];
  for (int i = 0; i < 4; ++i) {
    p[i] = _mm_unpacklo_epi16(x[2 * i], x[2 * i + 1]);
    p[i + 4] = _mm_unpackhi_epi16(x[2 * i], x[2 * i + 1]);
  }
  for (int h = 0; h < 2; ++h) {
    q[4 * h + 0] = _mm_unpacklo_epi32(p[4 * h], p[4 * h + 1]);
    q[4 * h + 1] = _mm_unpackhi_epi32(p[4 * h], p[4 * h + 1]);
    q[4 * h + 2] = _mm_unpacklo_epi32(p[4 * h + 2], p[4 * h + 3]);
    q[4 * h + 3] = _mm_unpackhi_epi32(p[4 * h + 2], p[4 * h + 3]);
    r[4 * h + 0] = _mm_unpacklo_epi64(q[4 * h], q[4 * h + 2]);
    r[4 * h + 1] = _mm_unpackhi_epi64(q[4 * h], q[4 * h + 2]);
    r[4 * h + 2] = _mm_unpacklo_epi64(q[4 * h + 1], q[4 * h + 3]);
    r[4 * h + 3] = _mm_unpackhi_epi64(q[4 * h + 1], q[4 * h + 3]);
  }
}

}  // namespace detail

/// One 8×8 block of 16-bit elements of A (a register): rows 8*mb.., columns 8*kb.. .
template <bool Bf16>
[[gnu::always_inline]] inline void unpack_a16(FusedTile& t, int mb, int kb, const uint8_t* reg) {
  using namespace detail;
  for (int i = 0; i < 8; i += 2) {
    const __m256i bits = load256(reg + 16 * i);
    const __m256i e = Bf16 ? exponents_bf16(bits) : exponents_f16(bits);
    Bf16 ? note_bf16(t, bits) : note_f16(t, bits);
    for (int h = 0; h < 2; ++h) {
      const int row = 8 * mb + i + h;
      widen(&t.a[row][8 * kb], h ? _mm256_extracti128_si256(bits, 1) : _mm256_castsi256_si128(bits),
            Bf16);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(&t.ea[row][8 * kb]),
                       h ? _mm256_extracti128_si256(e, 1) : _mm256_castsi256_si128(e));
    }
  }
}

/// One register of B: eight columns of 8 consecutive k.
template <bool Bf16>
[[gnu::always_inline]] inline void unpack_b16(FusedTile& t, int kb, const uint8_t* reg) {
  using namespace detail;
  __m128i columns[8], rows[8];
  for (int n = 0; n < 8; ++n) columns[n] = load128(reg + 16 * n);
  transpose16(columns, rows);
  for (int k = 0; k < 8; k += 2) {
    const __m256i bits = _mm256_set_m128i(rows[k + 1], rows[k]);
    Bf16 ? note_bf16(t, bits) : note_f16(t, bits);
    const __m256i e = Bf16 ? exponents_bf16(bits) : exponents_f16(bits);
    const __m128i lo = _mm256_castsi256_si128(e), hi = _mm256_extracti128_si256(e, 1);
    widen(t.b[8 * kb + k], rows[k], Bf16);
    widen(t.b[8 * kb + k + 1], rows[k + 1], Bf16);
    __m128i* pairs = reinterpret_cast<__m128i*>(t.eb[(8 * kb + k) / 2]);
    _mm_storeu_si128(pairs, _mm_unpacklo_epi16(lo, hi));
    _mm_storeu_si128(pairs + 1, _mm_unpackhi_epi16(lo, hi));
  }
}

/// One register of A of 8 rows by 4 tf32; the low 13 bits do not reach the multiplier.
[[gnu::always_inline]] inline void unpack_a_tf32(FusedTile& t, int mb, int kb, const uint8_t* reg) {
  using namespace detail;
  for (int i = 0; i < 8; i += 2) {
    const __m256i bits =
        _mm256_and_si256(load256(reg + 16 * i), _mm256_set1_epi32(static_cast<int>(0xffffe000u)));
    note_f32(t, bits, -49);
    const __m256i e = exponents_f32(bits);
    const __m256i packed = _mm256_packs_epi32(e, e);
    for (int h = 0; h < 2; ++h) {
      const int row = 8 * mb + i + h;
      _mm_storeu_ps(&t.a[row][4 * kb], _mm_castsi128_ps(h ? _mm256_extracti128_si256(bits, 1)
                                                          : _mm256_castsi256_si128(bits)));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(&t.ea[row][4 * kb]),
                       h ? _mm256_extracti128_si256(packed, 1) : _mm256_castsi256_si128(packed));
    }
  }
}
[[gnu::always_inline]] inline void unpack_b_tf32(FusedTile& t, int kb, const uint8_t* reg) {
  using namespace detail;
  alignas(32) uint32_t words[8][4], exponents[4][8];
  std::memcpy(words, reg, sizeof words);
  for (int k = 0; k < 4; ++k) {
    __m256i bits = _mm256_setr_epi32(static_cast<int>(words[0][k]), static_cast<int>(words[1][k]),
                                     static_cast<int>(words[2][k]), static_cast<int>(words[3][k]),
                                     static_cast<int>(words[4][k]), static_cast<int>(words[5][k]),
                                     static_cast<int>(words[6][k]), static_cast<int>(words[7][k]));
    bits = _mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(0xffffe000u)));
    note_f32(t, bits, -49);
    _mm256_storeu_ps(t.b[4 * kb + k], _mm256_castsi256_ps(bits));
    _mm256_store_si256(reinterpret_cast<__m256i*>(exponents[k]), exponents_f32(bits));
  }
  for (int k = 0; k < 4; k += 2) {
    const __m256i even = load256(exponents[k]), odd = load256(exponents[k + 1]);
    const __m256i pair = _mm256_or_si256(_mm256_and_si256(even, _mm256_set1_epi32(0xffff)),
                                         _mm256_slli_epi32(odd, 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.eb[(4 * kb + k) / 2]), pair);
  }
}

/// Accumulators: f32 in two registers a block of 8 rows, or f16 in one.
[[gnu::always_inline]] inline void unpack_c_f32(FusedTile& t, int mb, const uint8_t* even,
                                                const uint8_t* odd) {
  using namespace detail;
  for (int i = 0; i < 8; ++i) {
    const __m128i x = load128(even + 16 * i), y = load128(odd + 16 * i);
    const __m256i bits = _mm256_set_m128i(_mm_unpackhi_epi32(x, y), _mm_unpacklo_epi32(x, y));
    note_f32(t, bits, kSmallestFastExponent);
    _mm256_storeu_ps(t.c[8 * mb + i], _mm256_castsi256_ps(bits));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.ec[8 * mb + i]), exponents_f32(bits));
  }
}
[[gnu::always_inline]] inline void unpack_c_f16(FusedTile& t, int mb, const uint8_t* reg) {
  using namespace detail;
  for (int i = 0; i < 8; i += 2) {
    const __m256i bits = load256(reg + 16 * i);
    note_f16(t, bits);
    const __m256i e = exponents_f16(bits);
    for (int h = 0; h < 2; ++h) {
      const int row = 8 * mb + i + h;
      widen(t.c[row], h ? _mm256_extracti128_si256(bits, 1) : _mm256_castsi256_si128(bits), false);
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(t.ec[row]),
          _mm256_cvtepi16_epi32(h ? _mm256_extracti128_si256(e, 1) : _mm256_castsi256_si128(e)));
    }
  }
}
/// c = 0 for `rows` rows.
[[gnu::always_inline]] inline void zero_c(FusedTile& t, int rows) {
  for (int i = 0; i < rows; ++i) {
    _mm256_storeu_ps(t.c[i], _mm256_setzero_ps());
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.ec[i]), _mm256_set1_epi32(kExponentOfZero));
  }
}
[[gnu::always_inline]] inline void begin(FusedTile& t) {
  t.special = _mm256_setzero_si256();
  t.tiny = _mm256_setzero_si256();
}

/// Eight results, rounded towards zero to f32. In the fast range they are normal numbers or zero,
/// so that dropping the low 29 bits of a double truncates.
[[gnu::always_inline]] inline __m256 rounded_to_f32(__m256d lo, __m256d hi) {
  const __m256d mask = _mm256_castsi256_pd(_mm256_set1_epi64x(~((int64_t{1} << 29) - 1)));
  return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_and_pd(hi, mask)),
                         _mm256_cvtpd_ps(_mm256_and_pd(lo, mask)));
}
/// Eight results, rounded to nearest even to f16: to odd in f32 first, which keeps the sticky bit.
[[gnu::always_inline]] inline __m128i rounded_to_f16(__m256d lo, __m256d hi) {
  const __m256i low = _mm256_set1_epi64x((int64_t{1} << 29) - 1);
  const __m256i one = _mm256_set1_epi64x(int64_t{1} << 29);
  const auto to_odd = [&](__m256d x) {
    const __m256i bits = _mm256_castpd_si256(x);
    const __m256i exact = _mm256_cmpeq_epi64(_mm256_and_si256(bits, low), _mm256_setzero_si256());
    return _mm256_cvtpd_ps(_mm256_castsi256_pd(
        _mm256_or_si256(_mm256_andnot_si256(low, bits), _mm256_andnot_si256(exact, one))));
  };
  const __m128i bits =
      _mm256_cvtps_ph(_mm256_set_m128(to_odd(hi), to_odd(lo)), _MM_FROUND_TO_NEAREST_INT);
  // A result that rounds to zero has no sign.
  const __m128i minus_zero = _mm_set1_epi16(static_cast<short>(0x8000));
  return _mm_andnot_si128(_mm_cmpeq_epi16(bits, minus_zero), bits);
}

/// E of each output of row `m`, over c and K products.
template <int K>
[[gnu::always_inline]] inline __m256i largest_exponents(const FusedTile& t, int m) {
  __m256i best = _mm256_set1_epi16(-32000);
  for (int j = 0; j < K / 2; ++j) {
    int32_t pair;
    std::memcpy(&pair, &t.ea[m][2 * j], 4);
    best =
        _mm256_max_epi16(best, _mm256_add_epi16(_mm256_set1_epi32(pair), detail::load256(t.eb[j])));
  }
  const __m256i even = _mm256_srai_epi32(_mm256_slli_epi32(best, 16), 16);
  const __m256i odd = _mm256_srai_epi32(best, 16);
  return _mm256_max_epi32(_mm256_max_epi32(even, odd), detail::load256(t.ec[m]));
}

template <int M, int K, bool F16Result>
[[gnu::always_inline]] inline void multiply(FusedTile& t) {
  const __m256i smallest = _mm256_set1_epi32(kSmallestFastExponent);
  __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
  for (int m = 0; m < M; ++m) {
    const __m256i e = largest_exponents<K>(t, m);
    low = _mm256_or_si256(low, _mm256_cmpgt_epi32(smallest, e));
    high = _mm256_or_si256(high, _mm256_cmpgt_epi32(e, _mm256_set1_epi32(kLargestFastExponent)));
    // An output whose terms are all zero may lie below: any E does for it.
    _mm256_store_si256(reinterpret_cast<__m256i*>(t.largest[m]), _mm256_max_epi32(e, smallest));
  }
  const bool below = !_mm256_testz_si256(low, low) && !_mm256_testz_si256(t.tiny, t.tiny);
  const __m256i outside = _mm256_or_si256(high, t.special);
  if (below || !_mm256_testz_si256(outside, outside)) [[unlikely]] {
    multiply_scalar(t, M, K, F16Result);
    return;
  }
  for (int m = 0; m < M; ++m) {
    const __m256i e = detail::load256(t.largest[m]);
    const __m256 scale = _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32(127 + kFractionBits), e), 23));
    const __m256 unit = _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_set1_epi32(127 - kFractionBits), e), 23));
    // Two sums: sixteen products below 4·2^25 and c may pass 2^31 together, never eight.
    __m256i s0 = _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_load_ps(t.c[m]), scale));
    __m256i s1 = _mm256_setzero_si256();
    for (int k = 0; k < K; k += 2) {
      const __m256 p0 = _mm256_mul_ps(_mm256_broadcast_ss(&t.a[m][k]), _mm256_load_ps(t.b[k]));
      const __m256 p1 =
          _mm256_mul_ps(_mm256_broadcast_ss(&t.a[m][k + 1]), _mm256_load_ps(t.b[k + 1]));
      s0 = _mm256_add_epi32(s0, _mm256_cvttps_epi32(_mm256_mul_ps(p0, scale)));
      s1 = _mm256_add_epi32(s1, _mm256_cvttps_epi32(_mm256_mul_ps(p1, scale)));
    }
    const auto sum = [&](__m128i x, __m128i y, __m128 u) {
      return _mm256_mul_pd(_mm256_add_pd(_mm256_cvtepi32_pd(x), _mm256_cvtepi32_pd(y)),
                           _mm256_cvtps_pd(u));
    };
    const __m256d lo =
        sum(_mm256_castsi256_si128(s0), _mm256_castsi256_si128(s1), _mm256_castps256_ps128(unit));
    const __m256d hi = sum(_mm256_extracti128_si256(s0, 1), _mm256_extracti128_si256(s1, 1),
                           _mm256_extractf128_ps(unit, 1));
    if constexpr (F16Result) {
      _mm_store_si128(reinterpret_cast<__m128i*>(t.out_f16[m]), rounded_to_f16(lo, hi));
    } else {
      _mm256_store_ps(t.out_f32[m], rounded_to_f32(lo, hi));
    }
  }
}

/// Results of block `mb` into accumulator registers.
[[gnu::always_inline]] inline void store_f32(const FusedTile& t, int mb, uint8_t* even,
                                             uint8_t* odd) {
  const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  for (int i = 0; i < 8; ++i) {
    const __m256 row = _mm256_permutevar8x32_ps(_mm256_load_ps(t.out_f32[8 * mb + i]), order);
    _mm_storeu_ps(reinterpret_cast<float*>(even + 16 * i), _mm256_castps256_ps128(row));
    _mm_storeu_ps(reinterpret_cast<float*>(odd + 16 * i), _mm256_extractf128_ps(row, 1));
  }
}
[[gnu::always_inline]] inline void store_f16(const FusedTile& t, int mb, uint8_t* reg) {
  std::memcpy(reg, t.out_f16[8 * mb], 128);
}

}  // namespace fiel::vgpu::FIEL_ISA
