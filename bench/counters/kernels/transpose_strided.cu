// Transposes a matrix a thread an element: rows are read in order, columns are written, 4 bytes each N apart.
#include <fiel/kernel.h>

__global__ void transpose(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int64_t cols) {
  const int64_t column = blockIdx.x * int64_t{32} + threadIdx.x;
  const int64_t row = blockIdx.y * int64_t{8} + threadIdx.y;
  if (row < rows && column < cols) y[column * rows + row] = x[row * cols + column];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs, int n_outputs,
                         cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32 || inputs[0].rank != 2)
    return FIEL_UNSUPPORTED;
  const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
  const dim3 grid((unsigned)((cols + 31) / 32), (unsigned)((rows + 7) / 8));
  transpose<<<grid, dim3(32, 8), 0, stream>>>(fiel_data(const float, inputs[0]),
                                              fiel_data(float, outputs[0]), rows, cols);
  return cudaGetLastError();
}
