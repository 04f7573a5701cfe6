// Judged after every hostile kernel, in the same process of the judge: it must be `correct`.
#include <fiel/kernel.h>

__global__ void affine(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  int n = (int)fiel_numel(&inputs[0]);
  affine<<<(n + 127) / 128, 128, 0, stream>>>(fiel_data(const float, inputs[0]), fiel_data(float, outputs[0]), n);
  return cudaGetLastError();
}
