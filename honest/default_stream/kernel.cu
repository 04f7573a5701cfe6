// Twin of T01: no stream is named. The legacy default stream is ordered with every blocking stream, the
// caller's among them, in both directions.
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
  (void)stream;
  silu<<<(unsigned)((n + 255) / 256), 256>>>(x, y, n);
  return cudaGetLastError();
}
