// One warp, one tile, each wmma shape and type: D = A·B + C with A row or column major.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <int M, int N, int K, typename T, typename Acc, typename LayoutA, typename LayoutB,
          typename Fragment = T>
__device__ void tile(const T* a, const T* b, const Acc* c, Acc* d, wmma::layout_t layout) {
  constexpr bool row_a = std::is_same<LayoutA, wmma::row_major>::value;
  constexpr bool row_b = std::is_same<LayoutB, wmma::row_major>::value;
  wmma::fragment<wmma::matrix_a, M, N, K, Fragment, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, Fragment, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Acc> fc;
  wmma::load_matrix_sync(fa, a, row_a ? K : M);
  wmma::load_matrix_sync(fb, b, row_b ? N : K);
  wmma::load_matrix_sync(fc, c, layout == wmma::mem_row_major ? N : M, layout);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] * static_cast<Acc>(2);
  wmma::store_matrix_sync(d, fc, layout == wmma::mem_row_major ? N : M, layout);
}

#define KERNEL(name, M, N, K, T, Acc, LA, LB, Fragment, layout)                    \
  extern "C" __global__ void name(const T* a, const T* b, const Acc* c, Acc* d) {  \
    tile<M, N, K, T, Acc, wmma::LA, wmma::LB, Fragment>(a, b, c, d, wmma::layout); \
  }
KERNEL(f16_16x16_rr, 16, 16, 16, half, float, row_major, row_major, half, mem_row_major)
KERNEL(f16_16x16_cc, 16, 16, 16, half, float, col_major, col_major, half, mem_col_major)
KERNEL(f16_32x8_rc, 32, 8, 16, half, float, row_major, col_major, half, mem_row_major)
KERNEL(f16_8x32_cr, 8, 32, 16, half, float, col_major, row_major, half, mem_col_major)
KERNEL(f16acc_16x16_rc, 16, 16, 16, half, half, row_major, col_major, half, mem_row_major)
KERNEL(f16acc_8x32_rc, 8, 32, 16, half, half, row_major, col_major, half, mem_col_major)
KERNEL(bf16_16x16_rc, 16, 16, 16, __nv_bfloat16, float, row_major, col_major, __nv_bfloat16,
       mem_row_major)
KERNEL(bf16_32x8_cr, 32, 8, 16, __nv_bfloat16, float, col_major, row_major, __nv_bfloat16,
       mem_col_major)
KERNEL(bf16_8x32_rr, 8, 32, 16, __nv_bfloat16, float, row_major, row_major, __nv_bfloat16,
       mem_row_major)
KERNEL(tf32_16x16_rr, 16, 16, 8, float, float, row_major, row_major, wmma::precision::tf32,
       mem_row_major)
KERNEL(tf32_16x16_cc, 16, 16, 8, float, float, col_major, col_major, wmma::precision::tf32,
       mem_col_major)
KERNEL(s8_16x16_rc, 16, 16, 16, signed char, int, row_major, col_major, signed char, mem_row_major)
KERNEL(s8_32x8_cr, 32, 8, 16, signed char, int, col_major, row_major, signed char, mem_col_major)
KERNEL(u8_8x32_rr, 8, 32, 16, unsigned char, int, row_major, row_major, unsigned char,
       mem_row_major)
KERNEL(f64_8x8_rc, 8, 8, 4, double, double, row_major, col_major, double, mem_row_major)
KERNEL(f64_8x8_cr, 8, 8, 4, double, double, col_major, row_major, double, mem_col_major)
