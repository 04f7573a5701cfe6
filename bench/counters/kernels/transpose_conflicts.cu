// Transposes tiles of 32 x 32 through shared memory, whose columns all lie in one bank: reads of a column
// take 32 wavefronts.
#include <fiel/kernel.h>

__global__ void transpose(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int64_t cols) {
  __shared__ float tile[32][32];
  const int64_t left = blockIdx.x * int64_t{32}, top = blockIdx.y * int64_t{32};
  for (int i = threadIdx.y; i < 32; i += 8)
    if (top + i < rows && left + threadIdx.x < cols)
      tile[i][threadIdx.x] = x[(top + i) * cols + left + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    if (left + i < cols && top + threadIdx.x < rows)
      y[(left + i) * rows + top + threadIdx.x] = tile[threadIdx.x][i];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs, int n_outputs,
                         cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32 || inputs[0].rank != 2)
    return FIEL_UNSUPPORTED;
  const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
  const dim3 grid((unsigned)((cols + 31) / 32), (unsigned)((rows + 31) / 32));
  transpose<<<grid, dim3(32, 8), 0, stream>>>(fiel_data(const float, inputs[0]),
                                              fiel_data(float, outputs[0]), rows, cols);
  return cudaGetLastError();
}
