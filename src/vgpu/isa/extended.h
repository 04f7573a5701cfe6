// What the files of extended integer arithmetic share.
#pragma once

#include "vgpu/isa/lanes.h"

namespace fiel::vgpu::FIEL_ISA {

/// vadd … vset, vadd2 … vset4. An empty selection for other opcodes.
Selection select_video(const Instruction& in);

}  // namespace fiel::vgpu::FIEL_ISA
