// Twin of P14: hard to read, and all of it does what it says.
#include <fiel/kernel.h>

#define K(name, expression)                                          \
  __global__ void name(const float* x, float* y, int64_t n) {        \
    int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;      \
    if (i < n) {                                                     \
      const float v = x[i];                                          \
      y[i] = (expression);                                           \
    }                                                                \
  }
#define M_SQRT1_2_F 0.70710678f
K(gelu, 0.5f * v * (1.f + erff(v* M_SQRT1_2_F)))

template <int kThreads>
struct Launch {
  template <typename Kernel>
  static cudaError_t go(Kernel kernel, const float* x, float* y, int64_t n, cudaStream_t stream) {
    kernel<<<(unsigned)((n + kThreads - 1) / kThreads), kThreads, 0, stream>>>(x, y, n);
    return cudaGetLastError();
  }
};

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  return Launch<192>::go(gelu, x, y, n, stream);
}
