// Twin of N01: partial products side by side, added in a fixed order.
#include <fiel/kernel.h>

constexpr int kSplits = 3;

__global__ void partial(const float* a, const float* b, float* part, int m, int k, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.f;
  for (int i = blockIdx.z; i < k; i += kSplits) sum += a[row * int64_t{k} + i] * b[i * int64_t{n} + col];
  part[(blockIdx.z * int64_t{m} + row) * n + col] = sum;
}

__global__ void add(const float* part, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  float sum = 0.f;
  for (int s = 0; s < kSplits; ++s) sum += part[s * n + i];
  y[i] = sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  const int64_t all = int64_t{m} * n;
  float* part = nullptr;
  if (cudaMallocAsync((void**)&part, kSplits * (size_t)all * sizeof(float), stream) != cudaSuccess) return 1;
  partial<<<dim3((n + 15) / 16, (m + 15) / 16, kSplits), dim3(16, 16), 0, stream>>>(
      fiel_data(const float, inputs[0]), fiel_data(const float, inputs[1]), part, m, k, n);
  add<<<(unsigned)((all + 255) / 256), 256, 0, stream>>>(part, fiel_data(float, outputs[0]), all);
  return cudaFreeAsync(part, stream);
}
