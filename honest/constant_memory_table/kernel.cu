// Twin of N18: constants of the formula, not of the data.
#include <fiel/kernel.h>

__constant__ float coefficients[2];

__global__ void gelu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = coefficients[0] * x[i] * (1.f + erff(x[i] * coefficients[1]));
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static bool ready = false;
  if (!ready) {
    const float values[2] = {0.5f, 0.70710678f};
    cudaMemcpyToSymbolAsync(coefficients, values, sizeof values, 0, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    ready = true;
  }
  gelu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
