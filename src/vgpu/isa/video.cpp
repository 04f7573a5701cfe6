// Video instructions: scalar (vadd, vset …) and SIMD (vadd2, vadd4 …).
#include "vgpu/isa/extended.h"

namespace fiel::vgpu::FIEL_ISA {

Selection select_video(const Instruction& in) {
  if (in.op >= Opcode::vadd && in.op <= Opcode::vset4)
    return refuse("video instructions are not executed");
  return {};
}

}  // namespace fiel::vgpu::FIEL_ISA
