// Twin of T20: a persistent kernel that ends with its call. Tiles are handed out by an atomic counter that
// is cleared on the same stream.
#include <fiel/kernel.h>

__global__ void gelu(const float* x, float* y, int64_t n, unsigned long long* next) {
  __shared__ unsigned long long tile;
  for (;;) {
    if (threadIdx.x == 0) tile = atomicAdd(next, 1ull);
    __syncthreads();
    const int64_t i = (int64_t)tile * blockDim.x + threadIdx.x;
    if ((int64_t)tile * blockDim.x >= n) return;
    if (i < n) y[i] = 0.5f * x[i] * (1.f + erff(x[i] * 0.70710678f));
    __syncthreads();
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static unsigned long long* next = nullptr;
  if (next == nullptr && cudaMalloc(&next, sizeof *next) != cudaSuccess) return 1;
  cudaMemsetAsync(next, 0, sizeof *next, stream);
  gelu<<<8, 128, 0, stream>>>(x, y, n, next);
  return cudaGetLastError();
}
