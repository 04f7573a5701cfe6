// Twin of N12: the branch is on the data of this warp, asked of all lanes, and both ways are right.
#include <fiel/kernel.h>

__global__ void leaky(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  const float v = i < n ? x[i] : 0.f;
  if (__all_sync(~0u, v >= 0.f)) {
    if (i < n) y[i] = v;
    return;
  }
  if (i < n) y[i] = v > 0.f ? v : v * 0.2f;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  leaky<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
