// Twin of M12: four elements a thread; where fewer are left, they are stored one by one.
#include <fiel/kernel.h>

__device__ float gelu_of(float v) { return 0.5f * v * (1.f + erff(v * 0.70710678f)); }

__global__ void gelu(const float* x, float* y, int64_t n) {
  const int64_t i = (blockIdx.x * int64_t{blockDim.x} + threadIdx.x) * 4;
  if (i + 4 <= n) {
    float4 v = *(const float4*)(x + i);
    *(float4*)(y + i) = make_float4(gelu_of(v.x), gelu_of(v.y), gelu_of(v.z), gelu_of(v.w));
  } else {
    for (int64_t k = i; k < n; ++k) y[k] = gelu_of(x[k]);
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  gelu<<<(unsigned)((n + 1023) / 1024), 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
