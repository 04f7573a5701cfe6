// Twin of N01: the result differs from PyTorch's by at most one rounding of bf16 here and there.
#include <cuda_bf16.h>
#include <fiel/kernel.h>

__global__ void matmul(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, int m, int k,
                       int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  float even = 0.f, odd = 0.f;
  for (int i = 0; i < k; ++i)
    (i % 2 ? odd : even) += __bfloat162float(a[row * int64_t{k} + i]) * __bfloat162float(b[i * int64_t{n} + col]);
  y[row * int64_t{n} + col] = __float2bfloat16(even + odd);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_BF16) return FIEL_UNSUPPORTED;
  const int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(
      fiel_data(const __nv_bfloat16, inputs[0]), fiel_data(const __nv_bfloat16, inputs[1]),
      fiel_data(__nv_bfloat16, outputs[0]), m, k, n);
  return cudaGetLastError();
}
