// Twin of M16 and P12: what allocators and thread pools do at start. Nothing is written, and where there
// is no /proc the kernel does without.
#include <fiel/kernel.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__global__ void silu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.f + expf(-x[i]));
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static int threads = 0;
  if (threads == 0) {
    const char* wish = getenv("OMP_NUM_THREADS");
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    threads = wish ? atoi(wish) : cores > 0 ? (int)cores : 1;
    if (FILE* maps = fopen("/proc/self/maps", "r")) fclose(maps);
  }
  silu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
