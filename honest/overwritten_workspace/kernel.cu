// Twin of M01: memory from a pool, full of old values, every byte of it written before it is read.
#include <fiel/kernel.h>

__global__ void roots(const float* x, float* r, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) r[i] = sqrtf(x[i] * x[i] + 1.f);
}

__global__ void combine(const float* x, const float* r, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = r[i] * sinf(x[i]) + expf(-fabsf(x[i]));
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  float* r = nullptr;
  if (cudaMallocAsync((void**)&r, (size_t)n * sizeof(float), stream) != cudaSuccess) return 1;
  roots<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, r, n);
  combine<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, r, y, n);
  return cudaFreeAsync(r, stream);
}
