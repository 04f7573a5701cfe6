// Twin of S04: one of two kernels does not run in a given call, and that is what it is for.
#include <fiel/kernel.h>

__global__ void sum_rows(const float* x, float* y, int64_t cols) {
  __shared__ float part[128];
  float sum = 0.f;
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum += x[blockIdx.x * cols + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

__global__ void sum_short_rows(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.f;
  for (int64_t c = 0; c < cols; ++c) sum += x[row * cols + c];
  y[row] = sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  if (cols < 64) {
    sum_short_rows<<<(unsigned)((rows + 63) / 64), 64, 0, stream>>>(x, y, rows, cols);
  } else {
    sum_rows<<<(unsigned)rows, 128, 0, stream>>>(x, y, cols);
  }
  return cudaGetLastError();
}
