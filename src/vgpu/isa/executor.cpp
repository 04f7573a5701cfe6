#include "vgpu/isa/memory_access.h"

namespace fiel::vgpu::FIEL_ISA {}  // namespace fiel::vgpu::FIEL_ISA
