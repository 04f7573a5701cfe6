// Twin of N01: fp16 factors have TF32's eleven bits, and the sum is fp32's. A power of two brings the largest finite
// value of each matrix near the top of fp16's range, and is taken out of the sum again. The class is tf32.
#include <cuda_fp16.h>
#include <fiel/kernel.h>
#include <mma.h>

using namespace nvcuda;

constexpr int kStep = 16;

__global__ void largest(const float* x, int64_t n, int* bits) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n && isfinite(x[i])) atomicMax(bits, __float_as_int(fabsf(x[i])));
}

__device__ int exponent_of(int bits) { return bits == 0 ? 0 : 14 - ilogbf(__int_as_float(bits)); }

__global__ void product(const float* x, const float* w, const float* bias, const int* bits, float* y, int m, int k,
                        int n) {
  __shared__ __align__(32) __half a[16 * kStep], b[kStep * 16];
  __shared__ __align__(32) float c[16 * 16];
  const int row = blockIdx.y * 16, col = blockIdx.x * 16;
  const int up = exponent_of(bits[0]), up_w = exponent_of(bits[1]);
  wmma::fragment<wmma::matrix_a, 16, 16, kStep, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, kStep, __half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, kStep, float> sum;
  wmma::fill_fragment(sum, float(0.f));
  for (int k0 = 0; k0 < k; k0 += kStep) {
    for (int i = threadIdx.x; i < 16 * kStep; i += 32) {
      const int ra = row + i / kStep, ca = k0 + i % kStep, rb = k0 + i / 16, cb = col + i % 16;
      a[i] = __float2half(ra < m && ca < k ? ldexpf(x[ra * int64_t{k} + ca], up) : 0.f);
      b[i] = __float2half(rb < k && cb < n ? ldexpf(w[rb * int64_t{n} + cb], up_w) : 0.f);
    }
    __syncwarp();
    wmma::load_matrix_sync(fa, a, kStep);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    __syncwarp();
  }
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) {
    const int r = row + i / 16, q = col + i % 16;
    if (r < m && q < n) y[r * int64_t{n} + q] = ldexpf(c[i], -up - up_w) + bias[q];
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  const float *x = fiel_data(const float, inputs[0]), *w = fiel_data(const float, inputs[1]);
  const int64_t nx = int64_t{m} * k, nw = int64_t{k} * n;
  int* bits = nullptr;
  if (cudaMallocAsync((void**)&bits, 2 * sizeof(int), stream) != cudaSuccess) return 1;
  cudaMemsetAsync(bits, 0, 2 * sizeof(int), stream);
  largest<<<(unsigned)((nx + 255) / 256), 256, 0, stream>>>(x, nx, bits);
  largest<<<(unsigned)((nw + 255) / 256), 256, 0, stream>>>(w, nw, bits + 1);
  product<<<dim3((n + 15) / 16, (m + 15) / 16), 32, 0, stream>>>(x, w, fiel_data(const float, inputs[2]), bits,
                                                                 fiel_data(float, outputs[0]), m, k, n);
  return cudaFreeAsync(bits, stream);
}
