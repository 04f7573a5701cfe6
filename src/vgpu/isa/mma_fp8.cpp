// mma of e4m3 and e5m2. sm_90 has no such instruction for mma.sync: ptxas unpacks bytes to f16 and
// issues two HMMA that start from zero, the first on bytes 0 and 1 of each register and the second
// on bytes 2 and 3, then adds c with FADD or HADD2 (nvdisasm of m16n8k32 and m16n8k16, CUDA 13.0).
#include <array>

#include "vgpu/isa/fused_dot.h"
#include "vgpu/isa/mma.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::Type;

/// f16 of each e4m3 code: four bits of exponent with bias 7, no infinity, NaN at s.1111.111.
constexpr std::array<uint16_t, 256> make_e4m3_table() {
  std::array<uint16_t, 256> table{};
  for (int code = 0; code < 256; ++code) {
    const int exponent = code >> 3 & 15, fraction = code & 7;
    int bits = 0;
    if (exponent == 15 && fraction == 7) {
      bits = 0x7fff;
    } else if (exponent != 0) {
      bits = (exponent + 8) << 10 | fraction << 7;
    } else if (fraction != 0) {  // fraction · 2^-9 is a normal f16
      const int top = fraction >= 4 ? 2 : fraction >= 2 ? 1 : 0;
      bits = (top + 6) << 10 | ((fraction << (10 - top)) & 0x3ff);
    }
    table[static_cast<size_t>(code)] = static_cast<uint16_t>(bits | (code & 0x80) << 8);
  }
  return table;
}
constexpr std::array<uint16_t, 256> kE4m3 = make_e4m3_table();

/// The two bytes of `half` of each lane, as f16: an 8-row block of eight.
template <Type T>
void unpack_half(const uint8_t* reg, int half, uint8_t* block) {
  for (int lane = 0; lane < 32; ++lane) {
    uint16_t pair[2];
    for (int i = 0; i < 2; ++i) {
      const uint8_t code = reg[4 * lane + 2 * half + i];
      pair[i] = T == Type::e4m3 ? kE4m3[code] : static_cast<uint16_t>(code << 8);
    }
    std::memcpy(block + 4 * lane, pair, 4);
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
