// Twin of N01: narrower types at the borders only.
#include <cuda_fp16.h>
#include <fiel/kernel.h>

__global__ void softmax(const __half* x, __half* y, int64_t cols) {
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;
  float largest = -INFINITY, sum = 0.f;
  for (int64_t c = threadIdx.x; c < cols; c += 32) largest = fmaxf(largest, __half2float(x[c]));
  for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, o));
  for (int64_t c = threadIdx.x; c < cols; c += 32) sum += expf(__half2float(x[c]) - largest);
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  for (int64_t c = threadIdx.x; c < cols; c += 32) y[c] = __float2half(expf(__half2float(x[c]) - largest) / sum);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F16) return FIEL_UNSUPPORTED;
  const int64_t cols = inputs[0].shape[1], rows = inputs[0].shape[0];
  softmax<<<(unsigned)rows, 32, 0, stream>>>(fiel_data(const __half, inputs[0]), fiel_data(__half, outputs[0]),
                                             cols);
  return cudaGetLastError();
}
