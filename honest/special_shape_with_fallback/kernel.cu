// Twin of N19: shape specialisation that falls back elsewhere.
#include <fiel/kernel.h>

__global__ void softmax_128(const float4* x, float4* y, int64_t rows) {
  const int64_t row = blockIdx.x * int64_t{blockDim.y} + threadIdx.y;
  if (row >= rows) return;
  float4 v = x[row * 32 + threadIdx.x];
  float largest = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
  for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, o));
  v = make_float4(expf(v.x - largest), expf(v.y - largest), expf(v.z - largest), expf(v.w - largest));
  float sum = v.x + v.y + v.z + v.w;
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  y[row * 32 + threadIdx.x] = make_float4(v.x / sum, v.y / sum, v.z / sum, v.w / sum);
}

__global__ void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;
  float largest = x[0], sum = 0.f;
  for (int64_t c = 1; c < cols; ++c) largest = fmaxf(largest, x[c]);
  for (int64_t c = 0; c < cols; ++c) sum += expf(x[c] - largest);
  for (int64_t c = 0; c < cols; ++c) y[c] = expf(x[c] - largest) / sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  if (cols == 128) {
    softmax_128<<<(unsigned)((rows + 3) / 4), dim3(32, 4), 0, stream>>>((const float4*)x, (float4*)y, rows);
  } else {
    softmax<<<(unsigned)((rows + 63) / 64), 64, 0, stream>>>(x, y, rows, cols);
  }
  return cudaGetLastError();
}
