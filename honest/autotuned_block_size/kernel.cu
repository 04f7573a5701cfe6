// Twin of T09: behaviour depends on the number of the call, results do not. The choice is by event times.
#include <fiel/kernel.h>

__global__ void gelu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.f + erff(x[i] * 0.70710678f));
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static const int kSizes[3] = {128, 256, 512};
  static float ms[3] = {};
  static int calls = 0, best = 1;
  const int which = calls < 3 ? calls : best;
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  cudaEventRecord(a, stream);
  gelu<<<(unsigned)((n + kSizes[which] - 1) / kSizes[which]), kSizes[which], 0, stream>>>(x, y, n);
  cudaEventRecord(b, stream);
  if (calls < 3) {
    cudaEventSynchronize(b);
    cudaEventElapsedTime(&ms[calls], a, b);
    if (ms[calls] < ms[best]) best = calls;
    ++calls;
  }
  cudaEventDestroy(a);
  cudaEventDestroy(b);
  return cudaGetLastError();
}
