// The one place that knows all families of mma.
#include "vgpu/isa/mma.h"

namespace fiel::vgpu::FIEL_ISA {

MmaFunction find_mma(const MmaForm& form) {
  if (MmaFunction f = find_mma_float(form)) return f;
  if (MmaFunction f = find_mma_fp8(form)) return f;
  if (MmaFunction f = find_mma_integer(form)) return f;
  return find_mma_f64(form);
}

}  // namespace fiel::vgpu::FIEL_ISA
