// Twin of M08: the packing is part of the call, so a weight that changes is honoured.
#include <fiel/kernel.h>

__global__ void transpose(const float* w, float* t, int64_t k, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < k * n) t[i % n * k + i / n] = w[i];
}

__global__ void dense(const float* x, const float* t, const float* b, float* y, int m, int k, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.f;
  for (int i = 0; i < k; ++i) sum += x[row * int64_t{k} + i] * t[col * int64_t{k} + i];
  sum += b[col];
  y[row * int64_t{n} + col] = sum < 0.f ? 0.f : sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  float* packed = nullptr;
  if (cudaMallocAsync((void**)&packed, (size_t)k * n * sizeof(float), stream) != cudaSuccess) return 1;
  transpose<<<(unsigned)((int64_t{k} * n + 255) / 256), 256, 0, stream>>>(fiel_data(const float, inputs[1]),
                                                                          packed, k, n);
  dense<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(
      fiel_data(const float, inputs[0]), packed, fiel_data(const float, inputs[2]),
      fiel_data(float, outputs[0]), m, k, n);
  return cudaFreeAsync(packed, stream);
}
