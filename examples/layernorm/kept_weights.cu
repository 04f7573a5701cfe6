// Wrong: copies the weights once at each size and never looks at them again.
#include <fiel/kernel.h>

#include <map>

__device__ float block_sum(float v, float* shared) {
  shared[threadIdx.x] = v;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  v = shared[0];
  __syncthreads();
  return v;
}

__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y,
                           int cols) {
  __shared__ float shared[128];
  x += blockIdx.x * int64_t{cols};
  y += blockIdx.x * int64_t{cols};
  float sum = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += x[i];
  float mean = block_sum(sum, shared) / cols;
  float squares = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
  float scale = rsqrtf(block_sum(squares, shared) / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  const float* weight = fiel_data(const float, inputs[1]);
  const float* bias = fiel_data(const float, inputs[2]);
  float* y = fiel_data(float, outputs[0]);
  static std::map<int64_t, float*> kept;
  if (!kept.count(cols)) {
    float* copy = nullptr;
    if (cudaMalloc(&copy, (size_t)cols * sizeof(float)) != cudaSuccess) return 1;
    cudaMemcpyAsync(copy, weight, (size_t)cols * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    kept[cols] = copy;
  }
  layer_norm<<<(unsigned)rows, 128, 0, stream>>>(x, kept[cols], bias, y, (int)cols);
  return cudaGetLastError();
}
