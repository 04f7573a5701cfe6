// Twin of P09: refuses what it does not do, by shape alone, before it has answered that shape. The odd shapes
// that the judge makes up may be refused.
#include <fiel/kernel.h>

__global__ void sum_rows(const float* x, float* y) {
  const float4 v = ((const float4*)x)[blockIdx.x * 32 + threadIdx.x];
  float sum = v.x + v.y + v.z + v.w;
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  if (cols != 128) return FIEL_UNSUPPORTED;
  sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y);
  return cudaGetLastError();
}
