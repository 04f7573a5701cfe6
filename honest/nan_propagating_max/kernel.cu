// Twin of N20: max.NaN.f32 instead of fmaxf.
#include <fiel/kernel.h>

__device__ float max_nan(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

__global__ void max_rows(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= rows) return;
  float best = x[row * cols];
  for (int64_t c = 1; c < cols; ++c) best = max_nan(best, x[row * cols + c]);
  y[row] = best;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  max_rows<<<(unsigned)((rows + 63) / 64), 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
