// y = a b of bf16, one thread an element: the sum in f32, one rounding out.
#include <cuda_bf16.h>
#include <fiel/kernel.h>

__global__ void matmul(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, int m, int k, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.f;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * int64_t{k} + i]) * __bfloat162float(b[i * int64_t{n} + col]);
  y[row * int64_t{n} + col] = __float2bfloat16(sum);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_BF16) return FIEL_UNSUPPORTED;
  int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  const __nv_bfloat16* a = fiel_data(const __nv_bfloat16, inputs[0]);
  const __nv_bfloat16* b = fiel_data(const __nv_bfloat16, inputs[1]);
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  matmul<<<grid, block, 0, stream>>>(a, b, fiel_data(__nv_bfloat16, outputs[0]), m, k, n);
  return cudaGetLastError();
}
