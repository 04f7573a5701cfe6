// mma of s8, u8, s4, u4 and b1: exact sums in 32 bits; .satfinite clamps the sum with c.
#include <immintrin.h>

#include <cstring>

#include "vgpu/isa/mma.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::Type;

struct alignas(64) IntegerTile {
  int16_t a[16][64];    ///< [m][k]
  int16_t b[32][8][2];  ///< [k/2][n][k%2]
};

__m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }

/// Sixteen bytes of a row, as 16-bit values: 16 of them, or 32 for the 4-bit types.
template <Type T>
[[gnu::always_inline]] inline void widen_row(const uint8_t* row, __m256i* to) {
  const __m128i bytes = load128(row);
  if constexpr (T == Type::s8) {
    to[0] = _mm256_cvtepi8_epi16(bytes);
  } else if constexpr (T == Type::u8) {
    to[0] = _mm256_cvtepu8_epi16(bytes);
  } else {
    const __m128i nibble = _mm_set1_epi8(15);
    const __m128i even = _mm_and_si128(bytes, nibble);
    const __m128i odd = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
    __m128i lo = _mm_unpacklo_epi8(even, odd), hi = _mm_unpackhi_epi8(even, odd);
    if constexpr (T == Type::s4) {
      const __m128i sign = _mm_set1_epi8(8);
      lo = _mm_sub_epi8(_mm_xor_si128(lo, sign), sign);
      hi = _mm_sub_epi8(_mm_xor_si128(hi, sign), sign);
    }
    to[0] = _mm256_cvtepi8_epi16(lo);
    to[1] = _mm256_cvtepi8_epi16(hi);
  }
}

template <Type T>
constexpr int kRowsOf16 = (T == Type::s4 || T == Type::u4) ? 2 : 1;

template <Type T>
void unpack_a(IntegerTile& t, int mb, int kb, const uint8_t* reg) {
  for (int i = 0; i < 8; ++i) {
    __m256i wide[2];
    widen_row<T>(reg + 16 * i, wide);
    for (int j = 0; j < kRowsOf16<T>; ++j) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(&t.a[8 * mb + i][16 * (kRowsOf16<T> * kb + j)]),
                         wide[j]);
    }
  }
}

/// Transposes 8×8 words.
[[gnu::always_inline]] inline void transpose32(const __m256i (&x)[8], __m256i* out) {
  __m256i p[8], q[8];
  for (int i = 0; i < 4; ++i) {
    p[2 * i] = _mm256_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
    p[2 * i + 1] = _mm256_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
  }
  for (int h = 0; h < 2; ++h) {
    q[4 * h + 0] = _mm256_unpacklo_epi64(p[4 * h], p[4 * h + 2]);
    q[4 * h + 1] = _mm256_unpackhi_epi64(p[4 * h], p[4 * h + 2]);
    q[4 * h + 2] = _mm256_unpacklo_epi64(p[4 * h + 1], p[4 * h + 3]);
    q[4 * h + 3] = _mm256_unpackhi_epi64(p[4 * h + 1], p[4 * h + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_store_si256(out + i, _mm256_permute2x128_si256(q[i], q[i + 4], 0x20));
    _mm256_store_si256(out + i + 4, _mm256_permute2x128_si256(q[i], q[i + 4], 0x31));
  }
}

template <Type T>
void unpack_b(IntegerTile& t, int kb, const uint8_t* reg) {
  __m256i columns[2][8];
  for (int n = 0; n < 8; ++n) {
    __m256i wide[2];
    widen_row<T>(reg + 16 * n, wide);
    for (int j = 0; j < kRowsOf16<T>; ++j) columns[j][n] = wide[j];
  }
  for (int j = 0; j < kRowsOf16<T>; ++j) {
    transpose32(columns[j], reinterpret_cast<__m256i*>(t.b[8 * (kRowsOf16<T> * kb + j)]));
  }
}

/// x + y clamped to the range of int32.
__m256i saturating_add(__m256i x, __m256i y) {
  const __m256i sum = _mm256_add_epi32(x, y);
  const __m256i overflow = _mm256_andnot_si256(_mm256_xor_si256(x, y), _mm256_xor_si256(x, sum));
  const __m256i limit = _mm256_xor_si256(_mm256_srai_epi32(x, 31), _mm256_set1_epi32(0x7fffffff));
  return _mm256_blendv_epi8(sum, limit, _mm256_srai_epi32(overflow, 31));
}

/// The accumulators as rows; read whole before d is written, which may name the same registers.
template <int M>
[[gnu::always_inline]] inline void read_c(const MmaFragments& f, __m256i (&c)[M]) {
  for (int m = 0; m < M; ++m) {
    const __m128i x = load128(f.c[2 * (m / 8)] + 16 * (m % 8));
    const __m128i y = load128(f.c[2 * (m / 8) + 1] + 16 * (m % 8));
    c[m] = _mm256_set_m128i(_mm_unpackhi_epi32(x, y), _mm_unpacklo_epi32(x, y));
  }
}
[[gnu::always_inline]] inline void store_row(const MmaFragments& f, int m, __m256i d) {
  d = _mm256_permutevar8x32_epi32(d, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(f.d[2 * (m / 8)] + 16 * (m % 8)),
                   _mm256_castsi256_si128(d));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(f.d[2 * (m / 8) + 1] + 16 * (m % 8)),
                   _mm256_extracti128_si256(d, 1));
}

template <Type A, Type B, int M, int Registers, bool Saturate>
void mma(const MmaFragments& f) {
  constexpr int kK = 16 * kRowsOf16<A> * Registers;
  IntegerTile t;
  for (int kb = 0; kb < Registers; ++kb) {
    for (int mb = 0; mb < M / 8; ++mb) unpack_a<A>(t, mb, kb, f.a[kb * (M / 8) + mb]);
    unpack_b<B>(t, kb, f.b[kb]);
  }
  __m256i c[M];
  read_c(f, c);
  for (int m = 0; m < M; ++m) {
    __m256i sum = _mm256_setzero_si256();
    for (int j = 0; j < kK / 2; ++j) {
      int32_t pair;
      std::memcpy(&pair, &t.a[m][2 * j], 4);
      const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(t.b[j]));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_set1_epi32(pair), b));
    }
    store_row(f, m, Saturate ? saturating_add(sum, c[m]) : _mm256_add_epi32(sum, c[m]));
  }
}

template <int M, int Registers, bool And>
void mma_b1(const MmaFragments& f) {
  __m256i sums[M];
  read_c(f, sums);
  for (int m = 0; m < M; ++m) {
    alignas(32) int32_t sum[8] = {};
    for (int kb = 0; kb < Registers; ++kb) {
      uint64_t a[2];
      std::memcpy(a, f.a[kb * (M / 8) + m / 8] + 16 * (m % 8), 16);
      for (int n = 0; n < 8; ++n) {
        uint64_t b[2];
        std::memcpy(b, f.b[kb] + 16 * n, 16);
        for (int w = 0; w < 2; ++w) {
          sum[n] += static_cast<int32_t>(_mm_popcnt_u64(And ? a[w] & b[w] : a[w] ^ b[w]));
        }
      }
    }
    sums[m] = _mm256_add_epi32(sums[m], _mm256_load_si256(reinterpret_cast<const __m256i*>(sum)));
  }
  for (int m = 0; m < M; ++m) store_row(f, m, sums[m]);
}

template <Type A, Type B, int M, int Registers>
MmaFunction pick(bool saturate) {
  return saturate ? mma<A, B, M, Registers, true> : mma<A, B, M, Registers, false>;
}
template <Type A, Type B>
MmaFunction pick(const MmaForm& f) {
  const int per_register = 16 * kRowsOf16<A>;
  if (f.m == 8 && f.k == per_register) return pick<A, B, 8, 1>(f.satfinite);
  if (f.m == 16 && f.k == per_register) return pick<A, B, 16, 1>(f.satfinite);
  if (f.m == 16 && f.k == 2 * per_register) return pick<A, B, 16, 2>(f.satfinite);
  return nullptr;
}

template <int M, int Registers>
MmaFunction pick_b1(bool and_popc) {
  return and_popc ? mma_b1<M, Registers, true> : mma_b1<M, Registers, false>;
}

}  // namespace

MmaFunction find_mma_integer(const MmaForm& f) {
  if (f.c != Type::s32 || f.d != Type::s32) return nullptr;
  if (f.a == Type::b1 && f.b == Type::b1) {
    if (f.m == 8 && f.k == 128) return pick_b1<8, 1>(f.and_popc);
    if (f.m == 16 && f.k == 128) return pick_b1<16, 1>(f.and_popc);
    if (f.m == 16 && f.k == 256) return pick_b1<16, 2>(f.and_popc);
    return nullptr;
  }
  if (f.a == Type::s8 && f.b == Type::s8) return pick<Type::s8, Type::s8>(f);
  if (f.a == Type::s8 && f.b == Type::u8) return pick<Type::s8, Type::u8>(f);
  if (f.a == Type::u8 && f.b == Type::s8) return pick<Type::u8, Type::s8>(f);
  if (f.a == Type::u8 && f.b == Type::u8) return pick<Type::u8, Type::u8>(f);
  if (f.a == Type::s4 && f.b == Type::s4) return pick<Type::s4, Type::s4>(f);
  if (f.a == Type::s4 && f.b == Type::u4) return pick<Type::s4, Type::u4>(f);
  if (f.a == Type::u4 && f.b == Type::s4) return pick<Type::u4, Type::s4>(f);
  if (f.a == Type::u4 && f.b == Type::u4) return pick<Type::u4, Type::u4>(f);
  return nullptr;
}

}  // namespace fiel::vgpu::FIEL_ISA
