// y = gelu(x + bias) + residual, four values a thread in 16-byte accesses, and a plain tail.
#include <fiel/kernel.h>

__device__ float gelu(float v) { return 0.5f * v * (1.f + erff(v * 0.70710678f)); }

__global__ void gelu_bias_residual(const float* __restrict__ x, const float* __restrict__ bias,
                                   const float* __restrict__ residual, float* __restrict__ y,
                                   int64_t n, int cols) {
  int64_t begin = (blockIdx.x * int64_t{blockDim.x} + threadIdx.x) * 4;
  if (begin >= n) return;
  int column = (int)(begin % cols);
  if (begin + 4 > n) {
    for (int64_t i = begin; i < n; ++i) {
      y[i] = gelu(x[i] + bias[column]) + residual[i];
      if (++column == cols) column = 0;
    }
    return;
  }
  float4 v = *reinterpret_cast<const float4*>(x + begin);
  float4 r = *reinterpret_cast<const float4*>(residual + begin);
  float b[4];
  for (int k = 0; k < 4; ++k) {  // four values may straddle a row
    b[k] = bias[column];
    if (++column == cols) column = 0;
  }
  *reinterpret_cast<float4*>(y + begin) =
      make_float4(gelu(v.x + b[0]) + r.x, gelu(v.y + b[1]) + r.y, gelu(v.z + b[2]) + r.z,
                  gelu(v.w + b[3]) + r.w);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  const float* x = fiel_data(const float, inputs[0]);
  const float* bias = fiel_data(const float, inputs[1]);
  const float* residual = fiel_data(const float, inputs[2]);
  float* y = fiel_data(float, outputs[0]);
  int64_t threads = (n + 3) / 4;
  gelu_bias_residual<<<(unsigned)((threads + 255) / 256), 256, 0, stream>>>(x, bias, residual, y, n,
                                                                            (int)cols);
  return cudaGetLastError();
}
