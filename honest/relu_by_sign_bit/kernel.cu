// Twin of N12: integer arithmetic on the bits, no comparison of floats.
#include <fiel/kernel.h>

__global__ void relu(const unsigned* x, unsigned* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  const unsigned bits = x[i];
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  y[i] = nan || !(bits >> 31) ? bits : 0u;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int64_t n = fiel_numel(&inputs[0]);
  relu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(fiel_data(const unsigned, inputs[0]), fiel_data(unsigned, outputs[0]), n);
  return cudaGetLastError();
}
