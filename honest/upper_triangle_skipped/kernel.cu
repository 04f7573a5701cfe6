// Twin of N13: half of the input is never looked at, because the reference does not depend on it.
#include <fiel/kernel.h>

__global__ void tril(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n * n) y[i] = i % n <= i / n ? x[i] : 0.f;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int64_t n = inputs[0].shape[0];
  tril<<<(unsigned)((n * n + 255) / 256), 256, 0, stream>>>(fiel_data(const float, inputs[0]),
                                                            fiel_data(float, outputs[0]), n);
  return cudaGetLastError();
}
