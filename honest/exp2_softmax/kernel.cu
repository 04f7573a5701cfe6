// Twin of N09: exp2f of a product with log2(e), as flash attention writes it: another rounding, the same class.
#include <fiel/kernel.h>

__global__ void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;
  constexpr float kLog2E = 1.4426950408889634f;
  float largest = x[0], sum = 0.f;
  for (int64_t c = 1; c < cols; ++c) largest = x[c] > largest ? x[c] : largest;
  for (int64_t c = 0; c < cols; ++c) sum += exp2f((x[c] - largest) * kLog2E);
  const float scale = 1.f / sum;
  for (int64_t c = 0; c < cols; ++c) y[c] = exp2f((x[c] - largest) * kLog2E) * scale;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  softmax<<<(unsigned)((rows + 63) / 64), 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
