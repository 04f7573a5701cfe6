// Elements of each row picked by index, a thread an element: the indices in order, the elements anywhere.
#include <fiel/kernel.h>

__global__ void gather(const float* __restrict__ x, const int64_t* __restrict__ index, float* __restrict__ y,
                       int64_t rows, int64_t cols, int64_t picked) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < rows * picked) y[i] = x[i / picked * cols + index[i]];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs, int n_outputs,
                         cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_F32 || inputs[1].dtype != FIEL_I64)
    return FIEL_UNSUPPORTED;
  const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1], picked = inputs[1].shape[1];
  const int64_t blocks = (rows * picked + 255) / 256;
  gather<<<(unsigned)blocks, 256, 0, stream>>>(fiel_data(const float, inputs[0]),
                                               fiel_data(const int64_t, inputs[1]),
                                               fiel_data(float, outputs[0]), rows, cols, picked);
  return cudaGetLastError();
}
