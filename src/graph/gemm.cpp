#include "graph/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/parallel.h"

namespace fiel::graph {
namespace {

// 4 x 8 accumulators: eight 4-double registers, the rest for operands (16 in AVX2).
constexpr int64_t kRows = 4, kColumns = 8;
constexpr int64_t kBlockM = 64, kBlockN = 256;

typedef double Quad __attribute__((vector_size(32), aligned(8)));

/// c[4][8] = sum over depth of packed columns of A (4 each) and rows of B (8 each).
__attribute__((always_inline)) inline void micro_kernel(const double* a, const double* b,
                                                        int64_t depth, double* c) {
  Quad sum[kRows][2] = {};
  for (int64_t p = 0; p < depth; ++p, a += kRows, b += kColumns) {
    Quad low, high;
    std::memcpy(&low, b, sizeof low);
    std::memcpy(&high, b + 4, sizeof high);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      Quad x = {a[r], a[r], a[r], a[r]};
      sum[r][0] += x * low;
      sum[r][1] += x * high;
    }
  }
  std::memcpy(c, sum, sizeof sum);
}

using Kernel = void (*)(const double*, const double*, int64_t, double*);
void kernel_any(const double* a, const double* b, int64_t depth, double* c) {
  micro_kernel(a, b, depth, c);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void kernel_avx2(const double* a, const double* b, int64_t depth,
                                                 double* c) {
  micro_kernel(a, b, depth, c);
}
Kernel best_kernel() { return __builtin_cpu_supports("avx2") ? kernel_avx2 : kernel_any; }
#else
Kernel best_kernel() { return kernel_any; }
#endif

/// Panels of `width` lanes, depth-major; lanes beyond `count` are zero and their results unused.
void pack(const double* data, int64_t lane_step, int64_t depth_step, int64_t count, int64_t depth,
          int64_t width, double* out) {
  for (int64_t first = 0; first < count; first += width) {
    int64_t lanes = std::min(width, count - first);
    const double* from = data + first * lane_step;
    for (int64_t p = 0; p < depth; ++p, out += width) {
      for (int64_t l = 0; l < lanes; ++l) out[l] = from[l * lane_step + p * depth_step];
      for (int64_t l = lanes; l < width; ++l) out[l] = 0;
    }
  }
}

struct Tile {
  int64_t row, rows, column, columns;
};

struct Scratch {
  std::unique_ptr<double[]> a{new double[kBlockM * kBlockK]};
  std::unique_ptr<double[]> b{new double[kBlockN * kBlockK]};
};

void tile_product(MatrixView a, MatrixView b, double* c, int64_t ldc, const Tile& t, int64_t k,
                  Scratch& scratch, Kernel kernel) {
  for (int64_t r = 0; r < t.rows; ++r)
    std::fill_n(c + (t.row + r) * ldc + t.column, t.columns, 0.0);
  for (int64_t p = 0; p < k; p += kBlockK) {
    int64_t depth = std::min(kBlockK, k - p);
    pack(a.data + t.row * a.row + p * a.column, a.row, a.column, t.rows, depth, kRows,
         scratch.a.get());
    pack(b.data + p * b.row + t.column * b.column, b.column, b.row, t.columns, depth, kColumns,
         scratch.b.get());
    for (int64_t j = 0; j < t.columns; j += kColumns)
      for (int64_t i = 0; i < t.rows; i += kRows) {
        double sums[kRows * kColumns];
        kernel(scratch.a.get() + i * depth, scratch.b.get() + j * depth, depth, sums);
        int64_t rows = std::min(kRows, t.rows - i), columns = std::min(kColumns, t.columns - j);
        for (int64_t r = 0; r < rows; ++r) {
          double* to = c + (t.row + i + r) * ldc + t.column + j;
          for (int64_t q = 0; q < columns; ++q) to[q] += sums[r * kColumns + q];
        }
      }
  }
}

}  // namespace

void gemm(MatrixView a, MatrixView b, double* c, int64_t ldc, int64_t m, int64_t n, int64_t k,
          uint32_t threads) {
  int64_t down = (m + kBlockM - 1) / kBlockM, across = (n + kBlockN - 1) / kBlockN;
  Kernel kernel = best_kernel();
  bool small = m * n * std::max<int64_t>(k, 1) < (1 << 18);
  parallel_for(down * across, 1, small ? 1 : threads, [&](int64_t from, int64_t to) {
    // Kept by the thread: batches of small products call this thousands of times.
    thread_local Scratch scratch;
    for (int64_t i = from; i < to; ++i) {
      int64_t row = i % down * kBlockM, column = i / down * kBlockN;
      Tile t{row, std::min(kBlockM, m - row), column, std::min(kBlockN, n - column)};
      tile_product(a, b, c, ldc, t, k, scratch, kernel);
    }
  });
}

void gemm_batch(MatrixView a, const int64_t* a_offsets, MatrixView b, const int64_t* b_offsets,
                double* c, int64_t batch, int64_t m, int64_t n, int64_t k, uint32_t threads) {
  auto entry = [&](int64_t i, uint32_t inner_threads) {
    MatrixView ai = a, bi = b;
    ai.data += a_offsets[i];
    bi.data += b_offsets[i];
    gemm(ai, bi, c + i * m * n, n, m, n, k, inner_threads);
  };
  if (batch < 4 && m * n * k > (1 << 20)) {
    for (int64_t i = 0; i < batch; ++i) entry(i, threads);
    return;
  }
  int64_t work = std::max<int64_t>(1, m * n * std::max<int64_t>(k, 1));
  parallel_for(batch, std::max<int64_t>(1, (1 << 18) / work), threads,
               [&](int64_t from, int64_t to) {
                 for (int64_t i = from; i < to; ++i) entry(i, 1);
               });
}

}  // namespace fiel::graph
