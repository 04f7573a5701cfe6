// Wrong: no guard for the last block; threads beyond the last row read and write outside.
#include <fiel/kernel.h>

__global__ void softmax(const float* x, float* y, int cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  x += row * cols;
  y += row * cols;
  float largest = x[0];
  for (int c = 1; c < cols; ++c) largest = fmaxf(largest, x[c]);
  float sum = 0.f;
  for (int c = 0; c < cols; ++c) sum += expf(x[c] - largest);
  for (int c = 0; c < cols; ++c) y[c] = expf(x[c] - largest) / sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  softmax<<<(unsigned)((rows + 31) / 32), 32, 0, stream>>>(
      fiel_data(const float, inputs[0]), fiel_data(float, outputs[0]), (int)cols);
  return cudaGetLastError();
}
