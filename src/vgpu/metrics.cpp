#include "vgpu/metrics.h"

namespace fiel::vgpu {

const char* name_of(MixClass c) {
  static constexpr const char* names[] = {
      "fp32",   "fp64",    "half", "integer", "special function", "tensor",  "load/store",
      "shared", "control", "warp", "barrier", "atomic",           "convert", "move"};
  static_assert(std::size(names) == static_cast<size_t>(MixClass::kCount));
  return names[static_cast<size_t>(c)];
}

}  // namespace fiel::vgpu
