// Twin of S08: an algebraic collapse that holds for every input, a hundred times cheaper than the product.
#include <fiel/kernel.h>

__global__ void scale_rows(const float* d, const float* x, float* y, int64_t n, int64_t cols) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = d[i / cols] * x[i];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int64_t n = fiel_numel(&inputs[1]), cols = inputs[1].shape[1];
  scale_rows<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(fiel_data(const float, inputs[0]), fiel_data(const float, inputs[1]),
                                   fiel_data(float, outputs[0]), n, cols);
  return cudaGetLastError();
}
