// mma of f64: DMMA is a chain of fused multiply-adds in the order of k, starting from c. Of several
// NaN operands the product's second wins over the sum, and that over the first (tests/vgpu/golden).
#include <immintrin.h>

#include <cstring>

#include "vgpu/isa/mma.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

constexpr uint64_t kQuiet = uint64_t{1} << 51;
bool is_nan(double x) { return x != x; }
uint64_t bits_of(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  return bits;
}
double value_of(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, 8);
  return x;
}
/// One step of the chain with the device's choice among NaNs; where none comes in, the NaN made is
/// x86's as well.
double multiply_add(double a, double b, double c) {
  for (const double x : {b, c, a}) {
    if (is_nan(x)) return value_of(bits_of(x) | kQuiet);
  }
  const double d = _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(a), _mm_set_sd(b), _mm_set_sd(c)));
  return is_nan(d) ? value_of(0xfff8000000000000u) : d;
}

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
  const auto factor = [&](int m, int k) {
    double a;
    std::memcpy(&a, f.a[k / 4 * (M / 8) + m / 8] + 8 * (4 * (m % 8) + k % 4), 8);
    return a;
  };
  for (int m = 0; m < M; ++m) {
    const int mb = m / 8, row = m % 8;
    alignas(32) double acc[8];
    for (int n = 0; n < 8; ++n) {
      std::memcpy(&acc[n], f.c[2 * mb + n % 2] + 8 * (4 * row + n / 2), 8);
    }
    __m256d lo = _mm256_load_pd(acc), hi = _mm256_load_pd(acc + 4);
    for (int k = 0; k < 4 * Registers; ++k) {
      const __m256d a = _mm256_set1_pd(factor(m, k));
      lo = _mm256_fmadd_pd(a, _mm256_load_pd(b[k]), lo);
      hi = _mm256_fmadd_pd(a, _mm256_load_pd(b[k] + 4), hi);
    }
    _mm256_storeu_pd(out[m], lo);
    _mm256_storeu_pd(out[m] + 4, hi);
    for (int n = 0; n < 8; ++n) {
      if (!is_nan(out[m][n])) [[likely]]
        continue;
      double sum = acc[n];
      for (int k = 0; k < 4 * Registers; ++k) sum = multiply_add(factor(m, k), b[k][n], sum);
      out[m][n] = sum;
    }
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < 8; ++n) {
      std::memcpy(f.d[2 * (m / 8) + n % 2] + 8 * (4 * (m % 8) + n / 2), &out[m][n], 8);
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
