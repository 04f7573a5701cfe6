// Weights, then the statistics, in state_dict's order; the running ones are written.
#include <fiel/kernel.h>

struct Sizes {
  int n, c, h, w, m;
};

__global__ void convolve(const float* x, const float* weight, float* y, Sizes s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, hw = s.h * s.w;
  if (i >= s.n * s.m * hw) return;
  int column = i % s.w, row = i / s.w % s.h, m = i / hw % s.m, n = i / hw / s.m;
  float sum = 0;
  for (int c = 0; c < s.c; ++c)
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) {
        int p = row + a - 1, q = column + b - 1;
        if (p < 0 || p >= s.h || q < 0 || q >= s.w) continue;
        sum = fmaf(x[((n * s.c + c) * s.h + p) * s.w + q], weight[((m * s.c + c) * 3 + a) * 3 + b],
                   sum);
      }
  y[i] = sum;
}

__device__ float total(float v, float* shared) {
  shared[threadIdx.x] = v;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  v = shared[0];
  __syncthreads();
  return v;
}

// A block a channel: statistics of the batch, the running ones, then the values in place.
__global__ void normalise(float* y, const float* gain, const float* offset, float* running_mean,
                          float* running_var, int64_t* batches, Sizes s) {
  __shared__ float shared[128];
  int m = blockIdx.x, hw = s.h * s.w, count = s.n * hw;
  auto at = [&](int i) { return (i / hw * s.m + m) * hw + i % hw; };
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += y[at(i)];
  float mean = total(sum, shared) / count;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    float d = y[at(i)] - mean;
    squares = fmaf(d, d, squares);
  }
  squares = total(squares, shared);
  float scale = gain[m] * rsqrtf(squares / count + 1e-5f);
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    float v = (y[at(i)] - mean) * scale + offset[m];
    y[at(i)] = v < 0 ? 0 : v;  // NaN stays
  }
  if (threadIdx.x != 0) return;
  running_mean[m] = 0.9f * running_mean[m] + 0.1f * mean;
  running_var[m] = 0.9f * running_var[m] + 0.1f * squares / (count - 1);
  if (m == 0) ++*batches;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 7 || n_outputs != 1) return FIEL_UNSUPPORTED;
  Sizes s{(int)inputs[0].shape[0], (int)inputs[0].shape[1], (int)inputs[0].shape[2],
          (int)inputs[0].shape[3], (int)inputs[1].shape[0]};
  int count = s.n * s.m * s.h * s.w;
  float* y = fiel_data(float, outputs[0]);
  convolve<<<(count + 127) / 128, 128, 0, stream>>>(fiel_data(const float, inputs[0]),
                                                    fiel_data(const float, inputs[1]), y, s);
  normalise<<<s.m, 128, 0, stream>>>(y, fiel_data(const float, inputs[2]),
                                     fiel_data(const float, inputs[3]), fiel_data(float, inputs[4]),
                                     fiel_data(float, inputs[5]), fiel_data(int64_t, inputs[6]), s);
  return cudaGetLastError();
}
