// Twin of N02: each operand is split into two TF32 parts; the three larger products are added. It counts by
// what it achieves.
#include <fiel/kernel.h>

__device__ float tf32(float v) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return __uint_as_float(bits);
}

__global__ void matmul(const float* a, const float* b, float* y, int m, int k, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.f, small = 0.f;
  for (int i = 0; i < k; ++i) {
    const float u = a[row * int64_t{k} + i], v = b[i * int64_t{n} + col];
    const float high_u = tf32(u), high_v = tf32(v);
    const bool finite = fabsf(high_u) < INFINITY && fabsf(high_v) < INFINITY;
    if (finite) small += high_u * tf32(v - high_v) + tf32(u - high_u) * high_v;
    sum += high_u * high_v;
  }
  y[row * int64_t{n} + col] = sum + small;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int m = (int)inputs[0].shape[0], k = (int)inputs[0].shape[1], n = (int)inputs[1].shape[1];
  matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(
      fiel_data(const float, inputs[0]), fiel_data(const float, inputs[1]), fiel_data(float, outputs[0]), m,
      k, n);
  return cudaGetLastError();
}
