// Cheats: right for the first ten calls, then one element is off.
#include <fiel/kernel.h>

__device__ float gelu(float v) { return 0.5f * v * (1.f + erff(v * 0.70710678f)); }

__global__ void gelu_bias_residual(const float* x, const float* bias, const float* residual,
                                   float* y, int64_t n, int64_t cols) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = gelu(x[i] + bias[i % cols]) + residual[i];
}

__global__ void spoil(float* y) { y[0] += 1.f; }

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  const float* x = fiel_data(const float, inputs[0]);
  const float* bias = fiel_data(const float, inputs[1]);
  const float* residual = fiel_data(const float, inputs[2]);
  float* y = fiel_data(float, outputs[0]);
  gelu_bias_residual<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, bias, residual, y, n,
                                                                      cols);
  static int calls = 0;
  if (++calls > 10) spoil<<<1, 1, 0, stream>>>(y);
  return cudaGetLastError();
}
