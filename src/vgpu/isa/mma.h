// Warp-wide matrix multiply-add on fragments, as sm_90's tensor cores round it.
//
//   MmaFragments f; f.a[0] = …;                      // 32 lanes of each register
//   if (MmaFunction mma = find_mma(MmaForm{…})) mma(f);
//
// Fragments are PTX's mma.sync layouts: register r of A holds the 8-row block r % (m/8) of column
// block r / (m/8), register r of B the row block r of one 8-column block. Knows nothing of Op,
// Program or memory. Private to vgpu/isa, where FIEL_ISA is the set that is being compiled.
#pragma once

#include <cstdint>

#include "ptx/type.h"

namespace fiel::vgpu {

/// Each pointer is a register: 32 lanes of 4 bytes (8 bytes for f64). d may alias a, b or c.
struct MmaFragments {
  const uint8_t* a[8];
  const uint8_t* b[4];
  const uint8_t* c[4];
  uint8_t* d[4];
};

/// One m×8×k product. `and_popc` tells b1's two operations apart.
struct MmaForm {
  uint8_t m = 16;
  uint16_t k = 16;
  ptx::Type a = ptx::Type::none, b = ptx::Type::none, c = ptx::Type::none, d = ptx::Type::none;
  bool satfinite = false;
  bool and_popc = false;
};

using MmaFunction = void (*)(const MmaFragments& fragments);

/// nullptr: no such product.
namespace avx2 {
MmaFunction find_mma(const MmaForm& form);
}
namespace avx512 {
MmaFunction find_mma(const MmaForm& form);
}

namespace FIEL_ISA {
MmaFunction find_mma_float(const MmaForm& form);
MmaFunction find_mma_fp8(const MmaForm& form);
MmaFunction find_mma_integer(const MmaForm& form);
MmaFunction find_mma_f64(const MmaForm& form);
}  // namespace FIEL_ISA

}  // namespace fiel::vgpu
