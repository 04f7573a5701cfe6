// Twin of M02: looks at addresses, but only to choose between vector and scalar loads.
#include <fiel/kernel.h>

__device__ float silu_of(float v) { return v / (1.f + expf(-v)); }

__global__ void silu_vectors(const float4* x, float4* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  float4 v = x[i];
  y[i] = make_float4(silu_of(v.x), silu_of(v.y), silu_of(v.z), silu_of(v.w));
}

__global__ void silu_scalars(const float* x, float* y, int64_t first, int64_t n) {
  int64_t i = first + blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = silu_of(x[i]);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  const bool aligned = ((uintptr_t)x | (uintptr_t)y) % 16 == 0;
  const int64_t vectors = aligned ? n / 4 : 0, rest = n - 4 * vectors;
  if (vectors > 0)
    silu_vectors<<<(unsigned)((vectors + 255) / 256), 256, 0, stream>>>((const float4*)x, (float4*)y, vectors);
  if (rest > 0)
    silu_scalars<<<(unsigned)((rest + 255) / 256), 256, 0, stream>>>(x, y, 4 * vectors, n);
  return cudaGetLastError();
}
