// mma of f16, bf16 and tf32: one fused step of HMMA.
#include <cmath>
#include <limits>

#include "vgpu/isa/fused_dot.h"
#include "vgpu/isa/mma.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

/// x rounded towards zero to f32. |x| of 2^128 and more is infinite; a result of zero is +0.
float truncate_to_f32(double x) {
  if (std::fabs(x) >= 0x1p128) return static_cast<float>(std::copysign(HUGE_VAL, x));
  if (std::fabs(x) < 0x1p-126) return static_cast<float>(std::trunc(x * 0x1p149) * 0x1p-149 + 0.0);
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  bits &= ~((uint64_t{1} << 29) - 1);
  std::memcpy(&x, &bits, 8);
  return static_cast<float>(x);
}
uint16_t round_to_f16(double x) {
  // Below any f16, and where f32 itself would underflow, there is nothing to round.
  const __m256d v = _mm256_set1_pd(std::fabs(x) < 0x1p-60 ? 0.0 : x);
  return static_cast<uint16_t>(_mm_extract_epi16(rounded_to_f16(v, v), 0));
}

/// What the fused sum is once an operand is infinite or NaN: IEEE's answer, with NVIDIA's NaN.
double special_sum(const FusedTile& t, int m, int n, int k) {
  double s = t.c[m][n];
  for (int i = 0; i < k; ++i) s += static_cast<double>(t.a[m][i]) * static_cast<double>(t.b[i][n]);
  return s;
}

/// 2^e for e in the range of normal doubles.
double power_of_two(int e) {
  const uint64_t bits = static_cast<uint64_t>(e + 1023) << 52;
  double x;
  std::memcpy(&x, &bits, 8);
  return x;
}

/// E is never below this: with it, and with no other value, all of an H200's underflow cases agree.
constexpr int kSmallestExponent = -133;

enum class Input : uint8_t { f16, bf16, tf32 };

template <Input T, int M, int K, bool F16>
void mma(const MmaFragments& f) {
  constexpr int kBlocks = M / 8;
  FusedTile t;
  begin(t);
  for (int kb = 0; kb < K / (T == Input::tf32 ? 4 : 8); ++kb) {
    for (int mb = 0; mb < kBlocks; ++mb) {
      const uint8_t* reg = f.a[kb * kBlocks + mb];
      if constexpr (T == Input::tf32) {
        unpack_a_tf32(t, mb, kb, reg);
      } else {
        unpack_a16<T == Input::bf16>(t, mb, kb, reg);
      }
    }
    if constexpr (T == Input::tf32) {
      unpack_b_tf32(t, kb, f.b[kb]);
    } else {
      unpack_b16<T == Input::bf16>(t, kb, f.b[kb]);
    }
  }
  for (int mb = 0; mb < kBlocks; ++mb) {
    F16 ? unpack_c_f16(t, mb, f.c[mb]) : unpack_c_f32(t, mb, f.c[2 * mb], f.c[2 * mb + 1]);
  }
  multiply<M, K, F16>(t);
  for (int mb = 0; mb < kBlocks; ++mb) {
    F16 ? store_f16(t, mb, f.d[mb]) : store_f32(t, mb, f.d[2 * mb], f.d[2 * mb + 1]);
  }
}

}  // namespace

void multiply_scalar(FusedTile& t, int rows, int k, bool f16_result) {
  for (int m = 0; m < rows; ++m) {
    for (int n = 0; n < 8; ++n) {
      const double unbounded = special_sum(t, m, n, k);
      double s = unbounded;
      if (std::isfinite(unbounded)) {
        int largest = std::max(t.ec[m][n], kSmallestExponent);
        for (int i = 0; i < k; ++i) largest = std::max(largest, t.ea[m][i] + t.eb[i / 2][n][i % 2]);
        const double scale = power_of_two(kFractionBits - largest);
        int64_t sum = static_cast<int64_t>(static_cast<double>(t.c[m][n]) * scale);
        for (int i = 0; i < k; ++i) {
          sum += static_cast<int64_t>(static_cast<double>(t.a[m][i]) *
                                      static_cast<double>(t.b[i][n]) * scale);
        }
        s = static_cast<double>(sum) * power_of_two(largest - kFractionBits);
      }
      if (f16_result) {
        t.out_f16[m][n] = std::isnan(s) ? uint16_t{0x7fff} : round_to_f16(s);
      } else if (std::isnan(s)) {
        const uint32_t nan = 0x7fffffffu;
        std::memcpy(&t.out_f32[m][n], &nan, 4);
      } else {
        t.out_f32[m][n] = truncate_to_f32(s);
      }
    }
  }
}

MmaFunction find_mma_float(const MmaForm& f) {
  using ptx::Type;
  if (f.a != f.b || f.c != f.d) return nullptr;
  const bool f16 = f.d == Type::f16;
  if (!f16 && f.d != Type::f32) return nullptr;
  switch (f.a) {
    case Type::f16:
      if (f.m == 16 && f.k == 16)
        return f16 ? mma<Input::f16, 16, 16, true> : mma<Input::f16, 16, 16, false>;
      if (f.m == 16 && f.k == 8)
        return f16 ? mma<Input::f16, 16, 8, true> : mma<Input::f16, 16, 8, false>;
      if (f.m == 8 && f.k == 16)
        return f16 ? mma<Input::f16, 8, 16, true> : mma<Input::f16, 8, 16, false>;
      return nullptr;
    case Type::bf16:
      if (f16) return nullptr;
      if (f.m == 16 && f.k == 16) return mma<Input::bf16, 16, 16, false>;
      if (f.m == 16 && f.k == 8) return mma<Input::bf16, 16, 8, false>;
      if (f.m == 8 && f.k == 16) return mma<Input::bf16, 8, 16, false>;
      return nullptr;
    case Type::tf32:
      if (f16 || f.m != 16) return nullptr;
      if (f.k == 8) return mma<Input::tf32, 16, 8, false>;
      if (f.k == 4) return mma<Input::tf32, 16, 4, false>;
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
