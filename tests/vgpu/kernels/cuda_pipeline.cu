// cuda::pipeline, cuda::barrier and cooperative_groups::memcpy_async as users write them; bulk_copy
// uses cp.async.bulk, which Fiel does not run.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

extern "C" __global__ void pipelined(const float* x, float* y, int tiles) {
  constexpr int kStages = 2;
  __shared__ float stage[kStages][256];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int t = threadIdx.x;
  int fetched = 0;
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    for (; fetched < tiles && fetched < tile + kStages; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stage[fetched % kStages], x + fetched * 256, sizeof(float) * 256,
                         pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += stage[tile % kStages][255 - t];
    pipe.consumer_release();
  }
  y[t] = sum;
}

extern "C" __global__ void thread_pipeline(const float4* x, float4* y, int n) {
  extern __shared__ float4 buffer[];
  auto pipe = cuda::make_pipeline();
  const int t = threadIdx.x, stride = blockDim.x;
  pipe.producer_acquire();
  cuda::memcpy_async(&buffer[t], &x[t], sizeof(float4), pipe);
  pipe.producer_commit();
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[(i + 1) % 2 * stride + t], &x[(i + 1) * stride + t],
                         sizeof(float4), pipe);
      pipe.producer_commit();
      cuda::pipeline_consumer_wait_prior<1>(pipe);
    } else {
      cuda::pipeline_consumer_wait_prior<0>(pipe);
    }
    const float4 v = buffer[i % 2 * stride + t];
    y[i * stride + t] = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
    pipe.consumer_release();
  }
}

extern "C" __global__ void group_copy(const int* x, int* y) {
  __shared__ int tile[512];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, x + blockIdx.x * 512, sizeof(int) * 512);
  cg::wait(block);
  y[blockIdx.x * 512 + threadIdx.x] = tile[511 - threadIdx.x];
  y[blockIdx.x * 512 + 256 + threadIdx.x] = tile[255 - threadIdx.x];
}

// Split arrive and wait: the sum of what the others wrote before they arrived.
extern "C" __global__ void split_barrier(int* y, int rounds) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[256];
  const int t = threadIdx.x;
  if (t == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    values[t] = t + r;
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
    sum += values[(t + 1) % 256];
    barrier.arrive_and_wait();
  }
  y[t] = sum;
}
