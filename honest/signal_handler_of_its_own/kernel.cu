// Twin of T15 and T16: what crash reporters do. The handlers never run.
#include <fiel/kernel.h>
#include <signal.h>

__global__ void silu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.f + expf(-x[i]));
}

static void on_user_signal(int) {}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static bool installed = false;
  if (!installed) {
    struct sigaction action = {};
    action.sa_handler = on_user_signal;
    sigaction(SIGUSR1, &action, nullptr);
    installed = true;
  }
  silu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
