// Wrong: uses the residual as scratch memory and puts the values back before it returns.
#include <fiel/kernel.h>

__device__ float gelu(float v) { return 0.5f * v * (1.f + erff(v * 0.70710678f)); }

__global__ void add_in_place(const float* x, const float* bias, float* residual, float* y,
                             int64_t n, int64_t cols) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  float before = residual[i];
  residual[i] = before + gelu(x[i] + bias[i % cols]);
  __threadfence();
  y[i] = *static_cast<volatile float*>(residual + i);
  residual[i] = before;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  add_in_place<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(
      fiel_data(const float, inputs[0]), fiel_data(const float, inputs[1]),
      fiel_data(float, inputs[2]), fiel_data(float, outputs[0]), n, cols);
  return 0;
}
