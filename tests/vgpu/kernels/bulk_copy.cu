// A pipeline of bulk copies ordered by the barrier's byte count. Right on a GPU; cp.async.bulk is
// not run by Fiel, which must say so and not call it a race.
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init

extern "C" __global__ void bulk_copy(const float* x, float* y) {
  __shared__ alignas(16) float stage[2][256];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier[2];
  const int t = threadIdx.x;
  if (t == 0) {
    init(&barrier[0], blockDim.x);
    init(&barrier[1], blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  for (int i = 0; i < 6; ++i) {
    const int b = i % 2;
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (t == 0) {
      cuda::device::memcpy_async_tx(stage[b], x + i * 256, cuda::aligned_size_t<16>(1024),
                                    barrier[b]);
      token = cuda::device::barrier_arrive_tx(barrier[b], 1, 1024);
    } else {
      token = barrier[b].arrive();
    }
    barrier[b].wait(std::move(token));
    y[i * 256 + t] = 2 * stage[b][t];
    __syncthreads();
  }
}
