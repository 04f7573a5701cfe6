// Races, and what looks like one. Each kernel is run by the cases race-*.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <bool kBarrier>
__device__ void transpose_tile(const float* x, float* y) {
  __shared__ float tile[32][33];
  int tx = threadIdx.x, ty = threadIdx.y;
  tile[ty][tx] = x[ty * 32 + tx];
  if (kBarrier) __syncthreads();
  y[ty * 32 + tx] = tile[tx][ty];
}
extern "C" __global__ void transpose(const float* x, float* y) { transpose_tile<true>(x, y); }
extern "C" __global__ void transpose_no_barrier(const float* x, float* y) { transpose_tile<false>(x, y); }

extern "C" __global__ void flag(int* y, int different) {
  __shared__ int seen;
  seen = different ? static_cast<int>(threadIdx.x) : 1;
  __syncthreads();
  if (threadIdx.x == 0) y[0] = seen != 0 || different;
}

// The end of a reduction within one warp: without __syncwarp() only lock-step orders it.
extern "C" __global__ void warp_sum_lock_step(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];
    if (t < 16) s[t] += s[t + 16];
    if (t < 8) s[t] += s[t + 8];
    if (t < 4) s[t] += s[t + 4];
    if (t < 2) s[t] += s[t + 2];
    if (t < 1) y[0] = s[0] + s[1];
  }
}
extern "C" __global__ void warp_sum_synced(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t >= 32) return;
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) s[t] += s[t + half];
    __syncwarp();
  }
  if (t == 0) y[0] = s[0];
}

extern "C" __global__ void two_blocks_write(int* y) { y[0] = static_cast<int>(blockIdx.x) + 1; }
extern "C" __global__ void two_blocks_add(int* y) { atomicAdd(y, 1); }

// Halves of one word, written by different blocks: no race.
extern "C" __global__ void halves(short* y) { y[blockIdx.x] = static_cast<short>(blockIdx.x + 1); }

template <bool kFence>
__device__ void last_block_sum(const float* x, float* partial, float* out, unsigned* ticket) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += x[blockIdx.x * 64 + i];
    partial[blockIdx.x] = sum;
    if (kFence) __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 32) {
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];
    out[0] = sum;
  }
}
extern "C" __global__ void last_block(const float* x, float* partial, float* out, unsigned* ticket) {
  last_block_sum<true>(x, partial, out, ticket);
}
extern "C" __global__ void last_block_no_fence(const float* x, float* partial, float* out, unsigned* ticket) {
  last_block_sum<false>(x, partial, out, ticket);
}

extern "C" __global__ void grid_stencil(float* x, float* y, int n) {
  auto grid = cg::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] *= 2;
  grid.sync();
  y[i] = x[i] + (i + 1 < n ? x[i + 1] : 0.0f);
}
extern "C" __global__ void grid_in_place(float* x, float* y, int n) {
  auto grid = cg::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] *= 2;
  grid.sync();
  x[i] = x[i] + (i + 1 < n ? x[i + 1] : 0.0f);
  if (i == 0) y[0] = 1;
}

extern "C" __global__ void lock_counter(int* lock, int* n) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *n = *n + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
