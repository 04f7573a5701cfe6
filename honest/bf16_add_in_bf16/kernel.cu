// Twin of N01: half-precision arithmetic where the task itself is half precision.
#include <cuda_bf16.h>
#include <fiel/kernel.h>

__global__ void add(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = __hadd(a[i], b[i]);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_BF16) return FIEL_UNSUPPORTED;
  const int64_t n = fiel_numel(&inputs[0]);
  add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(fiel_data(const __nv_bfloat16, inputs[0]), fiel_data(const __nv_bfloat16, inputs[1]),
                            fiel_data(__nv_bfloat16, outputs[0]), n);
  return cudaGetLastError();
}
