// Twin of N11: assumes balance for speed and handles imbalance all the same.
#include <fiel/kernel.h>

__global__ void count(const int64_t* values, unsigned long long* y, int64_t n, int64_t buckets) {
  __shared__ unsigned local[64];
  for (int b = threadIdx.x; b < 64; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n; i += gridDim.x * int64_t{blockDim.x}) {
    const int64_t v = values[i];
    if (v < 64) {
      atomicAdd(&local[v], 1);
    } else {
      atomicAdd(&y[v], 1ull);
    }
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 64 && b < buckets; b += blockDim.x)
    if (local[b]) atomicAdd(&y[b], (unsigned long long)local[b]);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_I64) return FIEL_UNSUPPORTED;
  const int64_t buckets = outputs[0].shape[0];
  cudaMemsetAsync(outputs[0].data, 0, (size_t)buckets * sizeof(int64_t), stream);
  count<<<4, 128, 0, stream>>>(fiel_data(const int64_t, inputs[0]), fiel_data(unsigned long long, outputs[0]),
                               fiel_numel(&inputs[0]), buckets);
  return cudaGetLastError();
}
