// mma of f64: DMMA is a chain of fused multiply-adds in the order of k, starting from c.
#include <immintrin.h>

#include <cstring>

#include "vgpu/isa/mma.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

/// A register of f64 is a block of 8 rows by 4; lane 4·row + column.
template <int M, int Registers>
void mma(const MmaFragments& f) {
  alignas(32) double b[4 * Registers][8];
  for (int kb = 0; kb < Registers; ++kb) {
    double block[8][4];
    std::memcpy(block, f.b[kb], sizeof block);
    for (int n = 0; n < 8; ++n) {
      for (int k = 0; k < 4; ++k) b[4 * kb + k][n] = block[n][k];
    }
  }
  double out[M][8];
  for (int m = 0; m < M; ++m) {
    const int mb = m / 8, row = m % 8;
    alignas(32) double acc[8];
    for (int n = 0; n < 8; ++n) {
      std::memcpy(&acc[n], f.c[2 * mb + n % 2] + 8 * (4 * row + n / 2), 8);
    }
    __m256d lo = _mm256_load_pd(acc), hi = _mm256_load_pd(acc + 4);
    for (int k = 0; k < 4 * Registers; ++k) {
      double a;
      std::memcpy(&a, f.a[k / 4 * (M / 8) + mb] + 8 * (4 * row + k % 4), 8);
      const __m256d factor = _mm256_set1_pd(a);
      lo = _mm256_fmadd_pd(factor, _mm256_load_pd(b[k]), lo);
      hi = _mm256_fmadd_pd(factor, _mm256_load_pd(b[k] + 4), hi);
    }
    _mm256_storeu_pd(out[m], lo);
    _mm256_storeu_pd(out[m] + 4, hi);
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < 8; ++n) {
      uint64_t bits;
      std::memcpy(&bits, &out[m][n], 8);
      if (out[m][n] != out[m][n]) bits = 0xfff8000000000000u;
      std::memcpy(f.d[2 * (m / 8) + n % 2] + 8 * (4 * (m % 8) + n / 2), &bits, 8);
    }
  }
}

}  // namespace

MmaFunction find_mma_f64(const MmaForm& f) {
  using ptx::Type;
  if (f.a != Type::f64 || f.b != Type::f64 || f.c != Type::f64 || f.d != Type::f64) return nullptr;
  if (f.m == 8 && f.k == 4) return mma<8, 1>;
  if (f.m == 16 && f.k == 4) return mma<16, 1>;
  if (f.m == 16 && f.k == 8) return mma<16, 2>;
  if (f.m == 16 && f.k == 16) return mma<16, 4>;
  return nullptr;
}

}  // namespace fiel::vgpu::FIEL_ISA
