// A block a row; on the virtual device at smaller shapes.
#include <fiel/kernel.h>

__device__ float combine(float v, float* shared, bool maximum) {
  for (int offset = 16; offset > 0; offset /= 2) {
    float other = __shfl_down_sync(~0u, v, offset);
    v = maximum ? fmaxf(v, other) : v + other;
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
  __syncthreads();
  v = shared[0];
  for (int i = 1; i < blockDim.x / 32; ++i) v = maximum ? fmaxf(v, shared[i]) : v + shared[i];
  __syncthreads();
  return v;
}

// One block a row. NaN and infinities go through the sum.
__global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float shared[32];
  x += (int64_t)blockIdx.x * columns;
  y += (int64_t)blockIdx.x * columns;
  float largest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, x[i]);
  largest = combine(largest, shared, true);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(x[i] - largest);
  sum = combine(sum, shared, false);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] = expf(x[i] - largest) / sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1) return FIEL_UNSUPPORTED;
  softmax<<<(int)inputs[0].shape[0], 512, 0, stream>>>(fiel_data(const float, inputs[0]),
                                                       fiel_data(float, outputs[0]),
                                                       (int)inputs[0].shape[1]);
  return cudaGetLastError();
}
