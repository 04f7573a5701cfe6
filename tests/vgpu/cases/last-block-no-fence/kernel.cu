// As last-block-fences, without the fences: the sums may miss what other blocks stored.
__device__ unsigned ticket;
extern "C" __global__ void columns(const float* x, float* partial, float* out) {
  __shared__ bool last;
  const int t = threadIdx.x;
  partial[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  if (t == 0) last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    float sum = 0;
#pragma unroll 1
    for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i * 64 + t];
    out[t] = sum;
  }
}
