// mma of e4m3 and e5m2. sm_90 has no such instruction for mma.sync: ptxas unpacks bytes to f16 and
// issues two HMMA that start from zero, the first on bytes 0 and 1 of each register and the second
// on bytes 2 and 3, then adds c with FADD or HADD2 (nvdisasm of m16n8k32 and m16n8k16, CUDA 13.0).
#include "vgpu/isa/fused_dot.h"
#include "vgpu/isa/mma.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::Type;

/// The two bytes of `half` of each lane, as f16: an 8-row block of eight. e5m2 is the upper half of
/// an f16. e4m3 has one exponent bit less: shifted right it is an f16 256 times too small, and
/// multiplying in f32 puts subnormals right too; only its NaN (s.1111.111) must be said.
template <Type T>
void unpack_half(const uint8_t* reg, int half, uint8_t* block) {
  const __m256i low_byte = _mm256_set1_epi32(0xff), high_byte = _mm256_set1_epi32(0xff00);
  const __m256i magnitude = _mm256_set1_epi16(0x7f00);
  for (int i = 0; i < 4; ++i) {
    const __m256i words = _mm256_srli_epi32(detail::load256(reg + 32 * i), 16 * half);
    __m256i h = _mm256_or_si256(_mm256_slli_epi32(_mm256_and_si256(words, low_byte), 8),
                                _mm256_slli_epi32(_mm256_and_si256(words, high_byte), 16));
    if constexpr (T == Type::e4m3) {
      const __m256i bits = _mm256_and_si256(h, magnitude);
      const __m256i nan = _mm256_cmpeq_epi16(bits, magnitude);
      const __m256i sign = _mm256_andnot_si256(_mm256_set1_epi16(0x7fff), h);
      const __m256i small = _mm256_or_si256(_mm256_srli_epi16(bits, 1), sign);
      const __m256 scale = _mm256_set1_ps(256.0f);
      const __m128i lo =
          _mm256_cvtps_ph(_mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(small)), scale), 0);
      const __m128i hi = _mm256_cvtps_ph(
          _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(small, 1)), scale), 0);
      h = _mm256_blendv_epi8(_mm256_set_m128i(hi, lo), _mm256_set1_epi16(0x7fff), nan);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(block + 32 * i), h);
  }
}

/// c + x, nearest even, with NVIDIA's NaN.
void add_f32(FusedTile& t, int mb, const uint8_t* even, const uint8_t* odd) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  unpack_c_f32(t, mb, even, odd);
  for (int i = 8 * mb; i < 8 * mb + 8; ++i) {
    const __m256 sum = _mm256_add_ps(_mm256_load_ps(t.out_f32[i]), _mm256_load_ps(t.c[i]));
    _mm256_store_ps(t.out_f32[i],
                    _mm256_blendv_ps(sum, nan, _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q)));
  }
}
void add_f16(FusedTile& t, int mb, const uint8_t* reg) {
  for (int i = 0; i < 8; ++i) {
    uint16_t* row = t.out_f16[8 * mb + i];
    // f32 holds 2·11+2 bits, so that rounding the sum twice is rounding it once.
    const __m256 sum = _mm256_add_ps(_mm256_cvtph_ps(detail::load128(row)),
                                     _mm256_cvtph_ps(detail::load128(reg + 16 * i)));
    const __m128i half = _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT);
    const __m128i magnitude = _mm_and_si128(half, _mm_set1_epi16(0x7fff));
    const __m128i is_nan = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7c00));
    _mm_store_si128(reinterpret_cast<__m128i*>(row),
                    _mm_blendv_epi8(half, _mm_set1_epi16(0x7fff), is_nan));
  }
}
/// The first step's result becomes the second's c.
template <bool F16>
void carry_over(FusedTile& t) {
  alignas(32) uint8_t even[128], odd[128];
  for (int mb = 0; mb < 2; ++mb) {
    if constexpr (F16) {
      store_f16(t, mb, even);
      unpack_c_f16(t, mb, even);
    } else {
      store_f32(t, mb, even, odd);
      unpack_c_f32(t, mb, even, odd);
    }
  }
}

template <Type A, Type B, int K, bool F16>
void mma(const MmaFragments& f) {
  FusedTile t;
  zero_c(t, 16);
  for (int half = 0; half < 2; ++half) {
    begin(t);
    if (half == 1) carry_over<F16>(t);
    alignas(32) uint8_t block[128];
    for (int kb = 0; kb < K / 16; ++kb) {
      for (int mb = 0; mb < 2; ++mb) {
        unpack_half<A>(f.a[2 * kb + mb], half, block);
        unpack_a16<false>(t, mb, kb, block);
      }
      unpack_half<B>(f.b[kb], half, block);
      unpack_b16<false>(t, kb, block);
    }
    multiply<16, K / 2, F16>(t);
  }
  // All of c is read before any of d is written: they may name the same registers.
  for (int mb = 0; mb < 2; ++mb) {
    F16 ? add_f16(t, mb, f.c[mb]) : add_f32(t, mb, f.c[2 * mb], f.c[2 * mb + 1]);
  }
  for (int mb = 0; mb < 2; ++mb) {
    F16 ? store_f16(t, mb, f.d[mb]) : store_f32(t, mb, f.d[2 * mb], f.d[2 * mb + 1]);
  }
}

template <Type A, Type B>
MmaFunction find(int k, bool f16) {
  if (k == 32) return f16 ? mma<A, B, 32, true> : mma<A, B, 32, false>;
  if (k == 16) return f16 ? mma<A, B, 16, true> : mma<A, B, 16, false>;
  return nullptr;
}

}  // namespace

MmaFunction find_mma_fp8(const MmaForm& f) {
  if (f.m != 16 || f.c != f.d || (f.d != Type::f32 && f.d != Type::f16)) return nullptr;
  const bool f16 = f.d == Type::f16;
  if (f.a == Type::e4m3 && f.b == Type::e4m3) return find<Type::e4m3, Type::e4m3>(f.k, f16);
  if (f.a == Type::e4m3 && f.b == Type::e5m2) return find<Type::e4m3, Type::e5m2>(f.k, f16);
  if (f.a == Type::e5m2 && f.b == Type::e4m3) return find<Type::e5m2, Type::e4m3>(f.k, f16);
  if (f.a == Type::e5m2 && f.b == Type::e5m2) return find<Type::e5m2, Type::e5m2>(f.k, f16);
  return nullptr;
}

}  // namespace fiel::vgpu::FIEL_ISA
