"""level1/19: four elements a thread, built by load_inline."""

import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void relu4(const float4* x, float4* y, long n4) {
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n4; i += (long)gridDim.x * blockDim.x) {
    float4 v = __ldcs(x + i);
    v.x = v.x < 0.f ? 0.f : v.x;
    v.y = v.y < 0.f ? 0.f : v.y;
    v.z = v.z < 0.f ? 0.f : v.z;
    v.w = v.w < 0.f ? 0.f : v.w;
    __stcs(y + i, v);
  }
}
__global__ void relu_tail(const float* x, float* y, long begin, long n) {
  const long i = begin + threadIdx.x;
  if (i < n) y[i] = x[i] < 0.f ? 0.f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
  auto in = x.contiguous();
  auto out = torch::empty_like(in);
  const long n = in.numel(), n4 = n / 4;
  if (n4) relu4<<<132 * 16, 256>>>((const float4*)in.data_ptr<float>(), (float4*)out.data_ptr<float>(), n4);
  if (n % 4) relu_tail<<<1, 4>>>(in.data_ptr<float>(), out.data_ptr<float>(), n4 * 4, n);
  return out;
}
"""

extension = load_inline(name="relu_inline", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=CUDA,
                        functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
