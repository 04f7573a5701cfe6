// Softmax of f16 over the last dimension, one thread a row: everything inside in f32, one rounding out.
#include <cuda_fp16.h>
#include <fiel/kernel.h>

__global__ void softmax(const __half* x, __half* y, int64_t rows, int64_t cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;
  float largest = __half2float(x[0]);
  for (int64_t c = 1; c < cols; ++c) largest = fmaxf(largest, __half2float(x[c]));
  float sum = 0.f;
  for (int64_t c = 0; c < cols; ++c) sum += expf(__half2float(x[c]) - largest);
  for (int64_t c = 0; c < cols; ++c) y[c] = __float2half(expf(__half2float(x[c]) - largest) / sum);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F16) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  int64_t blocks = (rows + 63) / 64;
  softmax<<<(unsigned)blocks, 64, 0, stream>>>(fiel_data(const __half, inputs[0]),
                                               fiel_data(__half, outputs[0]), rows, cols);
  return cudaGetLastError();
}
