// Comments, strings and host code are left alone: if (i < n) return; "i < n"
#include <fiel/kernel.h>
#define TWICE(v) ((v) + (v))

__device__ float halve(float v);  // no body

__global__ void __launch_bounds__(128) sum(const float* x, float* y, int n) {
  __shared__ float part[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  float total = 0.f;
  for (int k = i; k < n; k += 128) total += x[k];
  part[threadIdx.x] = total;
  __syncthreads();
  y[i] = fmaxf(part[0], -INFINITY) / 2.5f;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* in, int n_in, fiel_tensor* out, int n_out,
                         cudaStream_t stream) {
  if (n_in < 1) return FIEL_UNSUPPORTED;
  sum<<<1, 128, 0, stream>>>(fiel_data(const float, in[0]), fiel_data(float, out[0]), 7 + n_out);
  return 0;
}
