// C[M,N] (f32) = A[M,K] · B[N,K]^T, bf16, on tensor cores: 128×128×32 tiles, cp.async into two
// stages, ldmatrix, mma.sync.m16n8k16; eight warps of 64×32. M and N multiples of 128, K of 32.
// Rows of a tile are 80 bytes apart, so that the eight rows of an ldmatrix phase lie in different
// banks. PTX beside it: nvcc -arch=sm_90 -O3 -ptx -lineinfo gemm_bf16.cu
#include <cuda_bf16.h>
#include <cstdint>

namespace {
constexpr int kTile = 128, kDepth = 32, kPitch = 40, kThreads = 256;

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}
__device__ __forceinline__ void ldmatrix4(uint32_t (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(p)));
}
__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k) {
  __shared__ __align__(16) __nv_bfloat16 tile_a[2][kTile * kPitch];
  __shared__ __align__(16) __nv_bfloat16 tile_b[2][kTile * kPitch];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;

  auto load = [&](int stage, int k0) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int piece = thread + i * kThreads, row = piece / 4, at = piece % 4 * 8;
      copy16(&tile_a[stage][row * kPitch + at], a + (size_t)(row0 + row) * k + k0 + at);
      copy16(&tile_b[stage][row * kPitch + at], b + (size_t)(column0 + row) * k + k0 + at);
    }
    asm volatile("cp.async.commit_group;");
  };

  float acc[4][4][4] = {};
  load(0, 0);
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    const int stage = k0 / kDepth % 2;
    if (k0 + kDepth < k) {
      load(stage ^ 1, k0 + kDepth);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kDepth; step += 16) {
      uint32_t fa[4][4], fb[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = warp_row + i * 16 + lane % 16;
        ldmatrix4(fa[i], &tile_a[stage][row * kPitch + step + lane / 16 * 8]);
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int row = warp_column + j * 16 + lane % 8 + lane / 16 * 8;
        ldmatrix4(fb[j], &tile_b[stage][row * kPitch + step + lane / 8 % 2 * 8]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          mma(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int row = row0 + warp_row + i * 16 + lane / 4;
      const int column = column0 + warp_column + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(c + (size_t)row * n + column) =
          make_float2(acc[i][j][0], acc[i][j][1]);
      *reinterpret_cast<float2*>(c + (size_t)(row + 8) * n + column) =
          make_float2(acc[i][j][2], acc[i][j][3]);
    }
  }
}
