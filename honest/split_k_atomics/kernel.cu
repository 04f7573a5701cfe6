// Twin of N01 and T09: the order of the atomic additions, and so the last bits, differ from call to call.
#include <fiel/kernel.h>

constexpr int kSplits = 4;

__global__ void matmul(const float* a, const float* b, float* y, int m, int k, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  const int share = (k + kSplits - 1) / kSplits, first = blockIdx.z * share;
  const int last = first + share < k ? first + share : k;
  float sum = 0.f;
  for (int i = first; i < last; ++i) sum += a[row * int64_t{k} + i] * b[i * int64_t{n} + col];
  atomicAdd(&y[row * int64_t{n} + col], sum);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  cudaMemsetAsync(outputs[0].data, 0, (size_t)m * n * sizeof(float), stream);
  matmul<<<dim3((n + 15) / 16, (m + 15) / 16, kSplits), dim3(16, 16), 0, stream>>>(
      fiel_data(const float, inputs[0]), fiel_data(const float, inputs[1]), fiel_data(float, outputs[0]), m,
      k, n);
  return cudaGetLastError();
}
