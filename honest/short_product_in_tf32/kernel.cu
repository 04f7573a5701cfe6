// Twin of N01: cvt.rna.tf32 and an fp32 accumulator, on the same short sums. The class is tf32.
#include <fiel/kernel.h>
#include <mma.h>

using namespace nvcuda;

constexpr int kStep = 8;

__global__ void product(const float* x, const float* w, const float* bias, float* y, int m, int k, int n) {
  __shared__ __align__(32) float a[16 * kStep], b[kStep * 16];
  __shared__ __align__(32) float c[16 * 16];
  const int row = blockIdx.y * 16, col = blockIdx.x * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, kStep, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, kStep, wmma::precision::tf32, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, kStep, float> sum;
  wmma::fill_fragment(sum, float(0.f));
  for (int k0 = 0; k0 < k; k0 += kStep) {
    for (int i = threadIdx.x; i < 16 * kStep; i += 32) {
      const int ra = row + i / kStep, ca = k0 + i % kStep, rb = k0 + i / 16, cb = col + i % 16;
      a[i] = wmma::__float_to_tf32(ra < m && ca < k ? x[ra * int64_t{k} + ca] : 0.f);
      b[i] = wmma::__float_to_tf32(rb < k && cb < n ? w[rb * int64_t{n} + cb] : 0.f);
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
    if (r < m && q < n) y[r * int64_t{n} + q] = c[i] + bias[q];
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  product<<<dim3((n + 15) / 16, (m + 15) / 16), 32, 0, stream>>>(
      fiel_data(const float, inputs[0]), fiel_data(const float, inputs[1]), fiel_data(const float, inputs[2]),
      fiel_data(float, outputs[0]), m, k, n);
  return cudaGetLastError();
}
