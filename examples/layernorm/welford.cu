// Layer normalisation over the last dimension, one warp a row: Welford's update and Chan's merge in
// one pass over memory, 16-byte loads where rows allow it.
#include <fiel/kernel.h>

struct Moments {
  float count, mean, m2;  // m2: sum of squared distances from the mean
};

__device__ void take(Moments& m, float v) {
  m.count += 1.f;
  float distance = v - m.mean;
  m.mean += distance / m.count;
  m.m2 += distance * (v - m.mean);
}

__device__ Moments merge(Moments a, Moments b) {
  float count = a.count + b.count;
  if (count == 0.f) return a;
  float share = b.count / count;
  float distance = b.mean - a.mean;
  return {count, a.mean + distance * share, a.m2 + b.m2 + distance * distance * a.count * share};
}

__device__ Moments merge_warp(Moments m) {
  for (int offset = 16; offset > 0; offset /= 2) {
    Moments other{__shfl_xor_sync(~0u, m.count, offset), __shfl_xor_sync(~0u, m.mean, offset),
                  __shfl_xor_sync(~0u, m.m2, offset)};
    m = merge(m, other);
  }
  return m;
}

__device__ float4 apply(float4 v, float mean, float scale, float4 w, float4 b) {
  return make_float4((v.x - mean) * scale * w.x + b.x, (v.y - mean) * scale * w.y + b.y,
                     (v.z - mean) * scale * w.z + b.z, (v.w - mean) * scale * w.w + b.w);
}

template <bool kVectors>
__global__ void layer_norm(const float* __restrict__ x, const float* __restrict__ weight,
                           const float* __restrict__ bias, float* __restrict__ y, int64_t rows,
                           int cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.y} + threadIdx.y;
  if (row >= rows) return;  // the whole warp leaves together
  x += row * cols;
  y += row * cols;
  Moments m{0.f, 0.f, 0.f};
  if (kVectors) {
    for (int i = threadIdx.x; i < cols / 4; i += 32) {
      float4 v = reinterpret_cast<const float4*>(x)[i];
      take(m, v.x), take(m, v.y), take(m, v.z), take(m, v.w);
    }
  } else {
    for (int i = threadIdx.x; i < cols; i += 32) take(m, x[i]);
  }
  m = merge_warp(m);
  float scale = rsqrtf(m.m2 / cols + 1e-5f);
  if (kVectors) {
    for (int i = threadIdx.x; i < cols / 4; i += 32)
      reinterpret_cast<float4*>(y)[i] =
          apply(reinterpret_cast<const float4*>(x)[i], m.mean, scale,
                reinterpret_cast<const float4*>(weight)[i], reinterpret_cast<const float4*>(bias)[i]);
  } else {
    for (int i = threadIdx.x; i < cols; i += 32)
      y[i] = (x[i] - m.mean) * scale * weight[i] + bias[i];
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 3 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  const float* weight = fiel_data(const float, inputs[1]);
  const float* bias = fiel_data(const float, inputs[2]);
  float* y = fiel_data(float, outputs[0]);
  dim3 block(32, 4);
  unsigned blocks = (unsigned)((rows + 3) / 4);
  if (cols % 4 == 0) {
    layer_norm<true><<<blocks, block, 0, stream>>>(x, weight, bias, y, rows, (int)cols);
  } else {
    layer_norm<false><<<blocks, block, 0, stream>>>(x, weight, bias, y, rows, (int)cols);
  }
  return cudaGetLastError();
}
