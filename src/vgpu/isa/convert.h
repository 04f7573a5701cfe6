// What the two files of cvt share.
#pragma once

#include "vgpu/isa/half_bits.h"

namespace fiel::vgpu::FIEL_ISA {

/// How floats become f16 or bf16 in cvt.
struct HalfRounding {
  bool bf16 = false;
  Rounding rounding = Rounding::rn;  ///< rn rz rm rp; integral modes count as rn (already integral)
  bool sat = false;                  ///< [0, 1], NaN -> 0
  bool satfinite = false;            ///< beyond the largest finite value -> that value
  bool relu = false;                 ///< negative -> 0
};

/// Rounds once: `from` is exact, or rounded to odd (to_float_odd).
void round_to_half(uint32_t* to, const FloatLanes& from, const HalfRounding& how);

/// tf32, fp8 pairs, f16x2/bf16x2 results, cvt.pack.
Selection select_convert_packed(const Instruction& in);

}  // namespace fiel::vgpu::FIEL_ISA
