// y = relu(x w + b), one thread an element.
#include <fiel/kernel.h>

// NaN stays NaN, as in PyTorch: fmaxf(v, 0) would turn it into 0.
__device__ float relu(float v) { return v < 0.f ? 0.f : v; }

__global__ void matmul_bias_relu(const float* x, const float* w, const float* b, float* y, int m,
                                 int k, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.f;
  for (int i = 0; i < k; ++i) sum += x[row * int64_t{k} + i] * w[i * int64_t{n} + col];
  y[row * int64_t{n} + col] = relu(sum + b[col]);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  const float* x = fiel_data(const float, inputs[0]);
  const float* w = fiel_data(const float, inputs[1]);
  const float* b = fiel_data(const float, inputs[2]);
  float* y = fiel_data(float, outputs[0]);
  dim3 block(16, 16), grid((n + 16 - 1) / 16, (m + 16 - 1) / 16);
  matmul_bias_relu<<<grid, block, 0, stream>>>(x, w, b, y, m, k, n);
  return cudaGetLastError();
}
