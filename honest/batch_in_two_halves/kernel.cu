// Twin of S07: a smaller batch inside, twice.
#include <fiel/kernel.h>

__global__ void silu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.f + expf(-x[i]));
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  const int64_t half = n / 2;
  if (half > 0) silu<<<(unsigned)((half + 255) / 256), 256, 0, stream>>>(x, y, half);
  silu<<<(unsigned)((n - half + 255) / 256), 256, 0, stream>>>(x + half, y + half, n - half);
  return cudaGetLastError();
}
