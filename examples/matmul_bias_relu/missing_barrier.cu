// Wrong: the second barrier is missing, so that fast warps overwrite the tile that slow ones read.
#include <fiel/kernel.h>

// NaN stays NaN, as in PyTorch: fmaxf(v, 0) would turn it into 0.
__device__ float relu(float v) { return v < 0.f ? 0.f : v; }

constexpr int kTile = 32, kRows = 4;  // a block does 32 x 32 values, a thread four rows of them

__global__ void matmul_bias_relu(const float* __restrict__ x, const float* __restrict__ w,
                                 const float* __restrict__ b, float* __restrict__ y, int m, int k,
                                 int n) {
  __shared__ float xs[kTile][kTile], ws[kTile][kTile];
  int col = blockIdx.x * kTile + threadIdx.x, first_row = blockIdx.y * kTile + threadIdx.y;
  float sum[kRows] = {};
  for (int tile = 0; tile < k; tile += kTile) {
    for (int r = 0; r < kRows; ++r) {
      int local = threadIdx.y + r * 8, row = first_row + r * 8, depth = tile + threadIdx.x;
      xs[local][threadIdx.x] = row < m && depth < k ? x[row * int64_t{k} + depth] : 0.f;
      ws[local][threadIdx.x] =
          tile + local < k && col < n ? w[(tile + local) * int64_t{n} + col] : 0.f;
    }
    __syncthreads();
    for (int i = 0; i < kTile; ++i)
      for (int r = 0; r < kRows; ++r) sum[r] += xs[threadIdx.y + r * 8][i] * ws[i][threadIdx.x];
  }
  if (col >= n) return;
  for (int r = 0; r < kRows; ++r) {
    int row = first_row + r * 8;
    if (row < m) y[row * int64_t{n} + col] = relu(sum[r] + b[col]);
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  const float* x = fiel_data(const float, inputs[0]);
  const float* w = fiel_data(const float, inputs[1]);
  const float* b = fiel_data(const float, inputs[2]);
  float* y = fiel_data(float, outputs[0]);
  dim3 block(32, 8), grid((n + 32 - 1) / 32, (m + 32 - 1) / 32);
  matmul_bias_relu<<<grid, block, 0, stream>>>(x, w, b, y, m, k, n);
  return cudaGetLastError();
}
