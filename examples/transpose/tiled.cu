// A transpose through a tile of shared memory, a column wider than it need be so that the threads of
// a warp read different banks.
#include <fiel/kernel.h>

constexpr int kTile = 32, kRows = 8;

__global__ void transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[kTile][kTile + 1];
  int col = blockIdx.x * kTile + threadIdx.x;
  int row = blockIdx.y * kTile + threadIdx.y;
  for (int r = 0; r < kTile; r += kRows)
    if (row + r < rows && col < cols)
      tile[threadIdx.y + r][threadIdx.x] = x[(row + r) * int64_t{cols} + col];
  __syncthreads();
  col = blockIdx.y * kTile + threadIdx.x;
  row = blockIdx.x * kTile + threadIdx.y;
  for (int r = 0; r < kTile; r += kRows)
    if (row + r < cols && col < rows)
      y[(row + r) * int64_t{rows} + col] = tile[threadIdx.x][threadIdx.y + r];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int rows = (int)inputs[0].shape[0], cols = (int)inputs[0].shape[1];
  dim3 block(kTile, kRows), grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose<<<grid, block, 0, stream>>>(fiel_data(const float, inputs[0]),
                                        fiel_data(float, outputs[0]), rows, cols);
  return cudaGetLastError();
}
