// Twin of N08: one pass over memory, stable wherever the mean is.
#include <fiel/kernel.h>

struct Moments {
  float count, mean, m2;
};

__device__ Moments merge(Moments a, Moments b) {
  const float count = a.count + b.count;
  if (b.count == 0.f) return a;
  if (a.count == 0.f) return b;
  const float distance = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + distance * share, a.m2 + b.m2 + distance * distance * a.count * share};
}

__global__ void variance(const float* x, float* y, int64_t cols) {
  x += blockIdx.x * cols;
  Moments m{0.f, 0.f, 0.f};
  for (int64_t c = threadIdx.x; c < cols; c += 32) {
    const float v = x[c], distance = v - m.mean;
    m.count += 1.f;
    m.mean += distance / m.count;
    m.m2 += distance * (v - m.mean);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    Moments other{__shfl_xor_sync(~0u, m.count, offset), __shfl_xor_sync(~0u, m.mean, offset),
                  __shfl_xor_sync(~0u, m.m2, offset)};
    m = merge(m, other);
  }
  if (threadIdx.x == 0) y[blockIdx.x] = m.m2 / (cols - 1);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  variance<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
  return cudaGetLastError();
}
