// Twin of M15: a counter of its own, in memory of its own.
#include <fiel/kernel.h>

__global__ void silu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.f + expf(-x[i]));
}

__global__ void add_one(int* counter) { *counter += 1; }

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static int* counter = nullptr;
  if (counter == nullptr) {
    if (cudaMallocManaged(&counter, sizeof(int)) != cudaSuccess) return 1;
    *counter = 0;
  }
  silu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  add_one<<<1, 1, 0, stream>>>(counter);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 2;
  return *counter > 0 ? 0 : 3;
}
