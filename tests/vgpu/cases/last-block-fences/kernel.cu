// Every thread stores and fences, thread 0 counts the block in after the barrier; all threads of
// the last block read. PyTorch's reductions over several blocks do it like this.
__device__ unsigned ticket;
extern "C" __global__ void columns(const float* x, float* partial, float* out) {
  __shared__ bool last;
  const int t = threadIdx.x;
  partial[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t];
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    __threadfence();
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i * 64 + t];
    out[t] = sum;
  }
}
