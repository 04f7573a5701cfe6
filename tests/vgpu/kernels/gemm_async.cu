// C[128,128] = A[128,K] · B[128,K]^T in bf16, three stages of cp.async, one block of 128 threads.
// gemm_late_wait is the same with the wait after the tile has been read: a bug.
#include <cuda_bf16.h>
#include <mma.h>
#include <cstdint>

using namespace nvcuda;
namespace {
constexpr int kTile = 128, kDepth = 16, kStages = 3, kPitch = 24;

__device__ void copy16(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from));
}

template <bool LateWait>
__device__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int k) {
  __shared__ __align__(32) __nv_bfloat16 tile_a[kStages][kTile * kPitch];
  __shared__ __align__(32) __nv_bfloat16 tile_b[kStages][kTile * kPitch];
  const int row = threadIdx.x, warp = threadIdx.x / 32;
  auto load = [&](int stage, int step) {
    if (step * kDepth < k) {
      for (int half = 0; half < 2; ++half) {
        copy16(&tile_a[stage][row * kPitch + half * 8], a + row * k + step * kDepth + half * 8);
        copy16(&tile_b[stage][row * kPitch + half * 8], b + row * k + step * kDepth + half * 8);
      }
    }
    asm volatile("cp.async.commit_group;");
  };
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][8];
  for (auto& rows : acc)
    for (auto& f : rows) wmma::fill_fragment(f, 0.0f);
  load(0, 0);
  load(1, 1);
  for (int step = 0; step * kDepth < k; ++step) {
    if (!LateWait) {
      asm volatile("cp.async.wait_group 1;");
      __syncthreads();
    }
    const int stage = step % kStages;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa[2];
    for (int i = 0; i < 2; ++i) {
      wmma::load_matrix_sync(fa[i], &tile_a[stage][(warp * 32 + i * 16) * kPitch], kPitch);
    }
    for (int j = 0; j < 8; ++j) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
      wmma::load_matrix_sync(fb, &tile_b[stage][j * 16 * kPitch], kPitch);
      for (int i = 0; i < 2; ++i) wmma::mma_sync(acc[i][j], fa[i], fb, acc[i][j]);
    }
    if (LateWait) {
      asm volatile("cp.async.wait_group 1;");
    }
    __syncthreads();
    load((step + 2) % kStages, step + 2);
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 8; ++j)
      wmma::store_matrix_sync(c + (warp * 32 + i * 16) * kTile + j * 16, acc[i][j], kTile,
                              wmma::mem_row_major);
}
}  // namespace

extern "C" __global__ void gemm_async(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c,
                                      int k) {
  gemm<false>(a, b, c, k);
}
extern "C" __global__ void gemm_late_wait(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c,
                                          int k) {
  gemm<true>(a, b, c, k);
}
