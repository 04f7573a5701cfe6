// Twin of T08: real set-up work in the first call (here 100 ms of it), once, and never again.
#include <fiel/kernel.h>
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
  static bool ready = false;
  if (!ready) {
    usleep(100'000);  // stands for a compiler, an autotuner, a plan
    ready = true;
  }
  silu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
