// Twin of N08: one pass with sums in double, shifted by the first element. The same formula as the exploit,
// in enough bits and without the cancellation.
#include <fiel/kernel.h>

__global__ void variance(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= rows) return;
  x += row * cols;
  const double shift = x[0];
  double sum = 0, squares = 0;
  for (int64_t c = 0; c < cols; ++c) {
    const double v = x[c] - shift;
    sum += v;
    squares += v * v;
  }
  y[row] = (float)((squares - sum * sum / cols) / (cols - 1));
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  variance<<<(unsigned)((rows + 63) / 64), 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
