// Twin of T11: an access-policy window over the weights within one call, taken back before it returns.
#include <fiel/kernel.h>

__global__ void rms_norm(const float* x, const float* w, float* y, int64_t rows, int64_t cols) {
  int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;
  float squares = 0.f;
  for (int64_t c = 0; c < cols; ++c) squares += x[c] * x[c];
  const float scale = 1.f / sqrtf(squares / cols + 1e-6f);
  for (int64_t c = 0; c < cols; ++c) y[c] = x[c] * scale * w[c];
}

static void window(cudaStream_t stream, void* base, size_t bytes) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = base;
  value.accessPolicyWindow.num_bytes = bytes;
  value.accessPolicyWindow.hitRatio = 1.f;
  value.accessPolicyWindow.hitProp = bytes ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
  value.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  cudaGetLastError();  // a hint: the result does not depend on it
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  window(stream, inputs[1].data, (size_t)cols * sizeof(float));
  rms_norm<<<(unsigned)((rows + 63) / 64), 64, 0, stream>>>(x, fiel_data(const float, inputs[1]), y, rows, cols);
  const cudaError_t code = cudaGetLastError();
  window(stream, nullptr, 0);
  return code;
}
