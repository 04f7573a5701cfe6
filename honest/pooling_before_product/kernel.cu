// Twin of S08 and N07: mean(x w) is mean(x) w, so a product of matrices becomes one of a vector. Right for all
// inputs; only the rounding is another one.
#include <fiel/kernel.h>

__global__ void column_means(const float* x, float* mean, int m, int k) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= k) return;
  float sum = 0.f;
  for (int r = 0; r < m; ++r) sum += x[r * int64_t{k} + c];
  mean[c] = sum / m;
}

__global__ void product(const float* mean, const float* w, float* y, int k, int n) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  float sum = 0.f;
  for (int i = 0; i < k; ++i) sum += mean[i] * w[i * int64_t{n} + c];
  y[c] = sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  float* mean = nullptr;
  if (cudaMallocAsync((void**)&mean, (size_t)k * sizeof(float), stream) != cudaSuccess) return 1;
  column_means<<<(k + 63) / 64, 64, 0, stream>>>(fiel_data(const float, inputs[0]), mean, m, k);
  product<<<(n + 63) / 64, 64, 0, stream>>>(mean, fiel_data(const float, inputs[1]), fiel_data(float, outputs[0]),
                                            k, n);
  return cudaFreeAsync(mean, stream);
}
