// Twin of T01: the join is a host-side cudaStreamSynchronize, slow and perfectly legal.
#include <fiel/kernel.h>

__global__ void gelu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.f + erff(x[i] * 0.70710678f));
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static cudaStream_t other = nullptr;
  if (other == nullptr) cudaStreamCreate(&other);
  cudaStreamSynchronize(stream);
  gelu<<<(unsigned)((n + 255) / 256), 256, 0, other>>>(x, y, n);
  return cudaStreamSynchronize(other);
}
