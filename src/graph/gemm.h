// Matrix product of doubles, blocked for cache and registers.
//
//   gemm({a, k}, {b, n}, c, n, m, n, k, threads);      // C[m,n] = A[m,k] · B[k,n]
//
// Each element is summed over k in blocks of kBlockK: products of a block one after another, block
// sums one after another, so the rounding error is at most (kBlockK + k / kBlockK) · 2^-53 ·
// Σ|a·b|. The order depends neither on the number of threads nor on the instruction set (no fused
// multiply-add): same input, same bytes.
#pragma once

#include <cstdint>

namespace fiel::graph {

inline constexpr int64_t kBlockK = 256;

/// A matrix in memory: element (r, c) at data[r * row + c * column].
struct MatrixView {
  const double* data = nullptr;
  int64_t row = 0, column = 1;
};

/// Overwrites C (rows of stride ldc). threads: 0 = all cores.
void gemm(MatrixView a, MatrixView b, double* c, int64_t ldc, int64_t m, int64_t n, int64_t k,
          uint32_t threads);

/// The same for a batch: entry i uses a + i * a_step …; steps may be 0.
void gemm_batch(MatrixView a, const int64_t* a_offsets, MatrixView b, const int64_t* b_offsets,
                double* c, int64_t batch, int64_t m, int64_t n, int64_t k, uint32_t threads);

}  // namespace fiel::graph
