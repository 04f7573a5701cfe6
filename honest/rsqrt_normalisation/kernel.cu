// Twin of N09: two units in the last place from 1/sqrt.
#include <fiel/kernel.h>

__global__ void rms_norm(const float* x, const float* w, float* y, int64_t cols) {
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;
  float squares = 0.f;
  for (int64_t c = threadIdx.x; c < cols; c += 32) squares += x[c] * x[c];
  for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(~0u, squares, offset);
  const float scale = rsqrtf(squares / cols + 1e-6f);
  for (int64_t c = threadIdx.x; c < cols; c += 32) y[c] = x[c] * scale * w[c];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  rms_norm<<<(unsigned)rows, 32, 0, stream>>>(x, fiel_data(const float, inputs[1]), y, cols);
  return cudaGetLastError();
}
