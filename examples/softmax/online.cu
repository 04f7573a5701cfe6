// Softmax over the last dimension, one block a row: maximum and sum in one pass (Milakov and
// Gimelshein, 2018), 16-byte loads where rows allow it, a plain tail where they do not.
#include <fiel/kernel.h>

struct Partial {  // sum of exp(v - largest) over the values seen so far
  float largest, sum;
};

__device__ void take(Partial& p, float v) {
  if (v > p.largest) {
    p.sum *= expf(p.largest - v);
    p.largest = v;
  }
  // -inf - -inf would be NaN, where exp(-inf) is meant; a NaN of the input must get through.
  p.sum += v == -INFINITY ? 0.f : expf(v - p.largest);
}

__device__ Partial merge(Partial a, Partial b) {
  float largest = fmaxf(a.largest, b.largest);
  float sum = a.sum * (a.largest == largest ? 1.f : expf(a.largest - largest)) +
              b.sum * (b.largest == largest ? 1.f : expf(b.largest - largest));
  return {largest, sum};
}

__device__ Partial merge_warp(Partial p) {
  for (int offset = 16; offset > 0; offset /= 2) {
    Partial other{__shfl_xor_sync(~0u, p.largest, offset), __shfl_xor_sync(~0u, p.sum, offset)};
    p = merge(p, other);
  }
  return p;
}

template <bool kVectors>
__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ Partial warps[32];
  x += blockIdx.x * int64_t{cols};
  y += blockIdx.x * int64_t{cols};
  Partial p{-INFINITY, 0.f};
  if (kVectors) {
    const float4* x4 = reinterpret_cast<const float4*>(x);
    for (int i = threadIdx.x; i < cols / 4; i += blockDim.x) {
      float4 v = x4[i];
      take(p, v.x), take(p, v.y), take(p, v.z), take(p, v.w);
    }
  } else {
    for (int i = threadIdx.x; i < cols; i += blockDim.x) take(p, x[i]);
  }
  p = merge_warp(p);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = p;
  __syncthreads();
  p = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : Partial{-INFINITY, 0.f};
  p = merge_warp(p);
  float scale = 1.f / p.sum;
  if (kVectors) {
    const float4* x4 = reinterpret_cast<const float4*>(x);
    float4* y4 = reinterpret_cast<float4*>(y);
    for (int i = threadIdx.x; i < cols / 4; i += blockDim.x) {
      float4 v = x4[i];
      y4[i] = make_float4(expf(v.x - p.largest) * scale, expf(v.y - p.largest) * scale,
                          expf(v.z - p.largest) * scale, expf(v.w - p.largest) * scale);
    }
  } else {
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = expf(x[i] - p.largest) * scale;
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  int threads = cols >= 1024 ? 256 : cols >= 256 ? 128 : 32;
  if (cols % 4 == 0) {
    softmax<true><<<(unsigned)rows, threads, 0, stream>>>(x, y, (int)cols);
  } else {
    softmax<false><<<(unsigned)rows, threads, 0, stream>>>(x, y, (int)cols);
  }
  return cudaGetLastError();
}
