// The operands of one recorded instruction: what alu_vectors.cu gave the GPU's 32 threads.
#pragma once

#include <string_view>

#include "operands.h"

namespace fiel::vgpu::alu {

/// values[32 * k + lane] = source k. Member masks of warp operations name every lane, so all 32
/// threads agree on them; `c` is a carry.
inline void make_operands(std::string_view text, std::string_view classes, uint64_t* values) {
  Random random(hash_text(text));
  const bool shuffle = text.substr(0, 4) == "shfl";
  for (int lane = 0; lane < 32; ++lane) {
    for (size_t k = 0; k < classes.size(); ++k) {
      uint64_t* value = values + 32 * k + static_cast<size_t>(lane);
      if (classes[k] == 'i')
        *value = 0;
      else if (classes[k] == 'c')
        *value = random.next() & 1u;
      else
        *value = operand_value(random, classes[k], k ? value - 32 : nullptr);
      if (shuffle && k == 2) *value &= 0x1f1f;
      if (shuffle && k == 3) *value = 0xffffffffu;
    }
  }
}

}  // namespace fiel::vgpu::alu
