// Running sums, one block a row: 128 values at a time, each warp scanned by shuffles, the warps'
// totals by one warp, and what the tiles before it hold carried on.
#include <fiel/kernel.h>

constexpr int kThreads = 128;

__device__ float scan_warp(float v) {
  int lane = threadIdx.x % 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    float other = __shfl_up_sync(~0u, v, offset);
    if (lane >= offset) v += other;
  }
  return v;
}

__global__ void running_sum(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float totals[kThreads / 32];
  x += blockIdx.x * int64_t{cols};
  y += blockIdx.x * int64_t{cols};
  float carry = 0.f;
  for (int begin = 0; begin < cols; begin += kThreads) {
    int c = begin + threadIdx.x;
    float v = scan_warp(c < cols ? x[c] : 0.f);
    if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = v;
    __syncthreads();
    float before = carry;
    for (int w = 0; w < kThreads / 32; ++w) {
      if (w < threadIdx.x / 32) before += totals[w];
      carry += totals[w];
    }
    if (c < cols) y[c] = before + v;
    __syncthreads();  // the totals are written again
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  running_sum<<<(unsigned)rows, kThreads, 0, stream>>>(fiel_data(const float, inputs[0]),
                                                       fiel_data(float, outputs[0]), (int)cols);
  return cudaGetLastError();
}
