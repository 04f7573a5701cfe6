// Kernels of vgpu_bench, compiled to kernels.ptx:
//   nvcc -O3 -arch=sm_90 -ptx -lineinfo kernels.cu -o kernels.ptx
#include <cuda_bf16.h>
#include <mma.h>

extern "C" __global__ void vadd4(const float4* a, const float4* b, float4* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
}

// One block a row; the row is read twice.
extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float partial[32];
  const float* row = x + blockIdx.x * static_cast<size_t>(columns);
  float* out = y + blockIdx.x * static_cast<size_t>(columns);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) top = fmaxf(top, row[i]);
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  if (lane == 0) partial[warp] = top;
  __syncthreads();
  top = lane < warps ? partial[lane] : -INFINITY;
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(row[i] - top);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  sum = lane < warps ? partial[lane] : 0;
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  const float scale = 1 / sum;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = __expf(row[i] - top) * scale;
}

// 64x64 tile a block of 256 threads, 4x4 results a thread, k in steps of 16.
extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][64], bs[16][64];
  const int t = threadIdx.x, tx = t % 16, ty = t / 16;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 16) {
    const float4 va =
        *reinterpret_cast<const float4*>(&a[(row0 + t / 4) * static_cast<size_t>(n) + k0 + t % 4 * 4]);
    as[t % 4 * 4 + 0][t / 4] = va.x;
    as[t % 4 * 4 + 1][t / 4] = va.y;
    as[t % 4 * 4 + 2][t / 4] = va.z;
    as[t % 4 * 4 + 3][t / 4] = va.w;
    *reinterpret_cast<float4*>(&bs[t / 16][t % 16 * 4]) = *reinterpret_cast<const float4*>(
        &b[(k0 + t / 16) * static_cast<size_t>(n) + column0 + t % 16 * 4]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const float4 fa = *reinterpret_cast<const float4*>(&as[k][ty * 4]);
      const float4 fb = *reinterpret_cast<const float4*>(&bs[k][tx * 4]);
      const float ra[4] = {fa.x, fa.y, fa.z, fa.w}, rb[4] = {fb.x, fb.y, fb.z, fb.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(ra[i], rb[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *reinterpret_cast<float4*>(
        &c[(row0 + ty * 4 + i) * static_cast<size_t>(n) + column0 + tx * 4]) =
        make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}

// 32x32 tile, one result a thread.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[32][32], bs[32][32];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 32) {
    as[threadIdx.y][threadIdx.x] = a[y * static_cast<size_t>(n) + k0 + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * static_cast<size_t>(n) + x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; ++k) sum = fmaf(as[threadIdx.y][k], bs[k][threadIdx.x], sum);
    __syncthreads();
  }
  c[y * static_cast<size_t>(n) + x] = sum;
}

extern "C" __global__ void transpose(const float* x, float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  for (int j = 0; j < 32; j += 8) {
    const int row = blockIdx.y * 32 + threadIdx.y + j;
    y[i * static_cast<size_t>(n) + row] = x[row * static_cast<size_t>(n) + i];
  }
}

extern "C" __global__ void transpose_shared(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  const int i = blockIdx.x * 32 + threadIdx.x, k = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8)
    tile[j][threadIdx.x] = x[(blockIdx.y * 32 + j) * static_cast<size_t>(n) + i];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8)
    y[(blockIdx.x * 32 + j) * static_cast<size_t>(n) + k] = tile[threadIdx.x][j];
}

extern "C" __global__ void histogram(const unsigned* x, unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[x[i] & 255], 1u);
}

// bf16 in, f32 out: 64x64 tile, four warps, wmma 16x16x16.
extern "C" __global__ void gemm_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c,
                                     int n) {
  using namespace nvcuda;
  __shared__ __nv_bfloat16 as[64][40], bs[32][72];
  const int warp = threadIdx.x / 32;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4];
  for (int j = 0; j < 4; ++j) wmma::fill_fragment(sum[j], 0.0f);
  for (int k0 = 0; k0 < n; k0 += 32) {
    for (int t = threadIdx.x; t < 64 * 4; t += 128)
      *reinterpret_cast<uint4*>(&as[t / 4][t % 4 * 8]) = *reinterpret_cast<const uint4*>(
          &a[(row0 + t / 4) * static_cast<size_t>(n) + k0 + t % 4 * 8]);
    for (int t = threadIdx.x; t < 32 * 8; t += 128)
      *reinterpret_cast<uint4*>(&bs[t / 8][t % 8 * 8]) = *reinterpret_cast<const uint4*>(
          &b[(k0 + t / 8) * static_cast<size_t>(n) + column0 + t % 8 * 8]);
    __syncthreads();
    for (int k = 0; k < 32; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
      wmma::load_matrix_sync(fa, &as[warp * 16][k], 40);
      for (int j = 0; j < 4; ++j) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
        wmma::load_matrix_sync(fb, &bs[k][j * 16], 72);
        wmma::mma_sync(sum[j], fa, fb, sum[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    wmma::store_matrix_sync(&c[(row0 + warp * 16) * static_cast<size_t>(n) + column0 + j * 16],
                            sum[j], n, wmma::mem_row_major);
}
