// Twin of M08: the folded table is rebuilt whenever a parameter's bytes differ from the copy that it was made
// of. The comparison is four small loads a channel.
#include <fiel/kernel.h>

#include <map>

struct Folded {
  float *scale, *shift, *seen;
};

__global__ void refold(const float* mean, const float* var, const float* w, const float* b, Folded f,
                       int channels) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  float* s = f.seen + 4 * c;
  const float now[4] = {mean[c], var[c], w[c], b[c]};
  bool same = true;
  for (int k = 0; k < 4; ++k) same = same && __float_as_uint(now[k]) == __float_as_uint(s[k]);
  if (same) return;
  for (int k = 0; k < 4; ++k) s[k] = now[k];
  f.scale[c] = w[c] / sqrtf(var[c] + 1e-5f);
  f.shift[c] = b[c];
}

__global__ void apply(const float* x, const float* mean, Folded f, float* y, int64_t n, int64_t plane,
                      int channels) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  const int c = (int)(i / plane % channels);
  y[i] = (x[i] - mean[c]) * f.scale[c] + f.shift[c];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 5 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  static std::map<int, Folded> tables;
  const int channels = (int)inputs[0].shape[1];
  const int64_t plane = inputs[0].shape[2] * inputs[0].shape[3];
  if (tables.find(channels) == tables.end()) {
    float* memory = nullptr;
    if (cudaMalloc(&memory, 6 * (size_t)channels * sizeof(float)) != cudaSuccess) return 1;
    cudaMemsetAsync(memory, 0xff, 6 * (size_t)channels * sizeof(float), stream);  // NaN: equals no weight
    tables[channels] = {memory, memory + channels, memory + 2 * channels};
  }
  const Folded f = tables[channels];
  const float* mean = fiel_data(const float, inputs[1]);
  refold<<<(channels + 63) / 64, 64, 0, stream>>>(mean, fiel_data(const float, inputs[2]),
                                                  fiel_data(const float, inputs[3]),
                                                  fiel_data(const float, inputs[4]), f, channels);
  apply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, mean, f, y, n, plane, channels);
  return cudaGetLastError();
}
