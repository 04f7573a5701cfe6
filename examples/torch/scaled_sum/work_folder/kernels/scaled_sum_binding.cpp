#include <torch/csrc/utils/pybind.h>
#include <torch/types.h>

#include "../registry.h"

void scaled_sum(float* out, const float* a, const float* b, float alpha, long long n);

static torch::Tensor forward(torch::Tensor a, torch::Tensor b, double alpha) {
  TORCH_CHECK(a.is_contiguous() && b.is_contiguous() && a.sizes() == b.sizes(), "unlike operands");
  torch::Tensor out = torch::empty_like(a);
  scaled_sum(out.data_ptr<float>(), a.data_ptr<float>(), b.data_ptr<float>(),
             static_cast<float>(alpha), a.numel());
  return out;
}

static Registered registered([](pybind11::module_& m) { m.def("scaled_sum", &forward); });
