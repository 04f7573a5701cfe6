// First values of registers, and the stack frames of calls.
#pragma once

#include "vgpu/executor.h"

namespace fiel::vgpu {

/// Writes inits [first, end) of a function into a frame's registers, for this warp and block.
void write_inits(const WarpState& warp, const FunctionCode& function, uint32_t first, uint32_t end,
                 uint32_t local_base, uint8_t* regs);
/// Forgets the contents of a frame's stack part: every activation starts uninitialised.
void clear_locals(WarpState& warp, uint32_t mask, uint32_t base, uint32_t bytes);

}  // namespace fiel::vgpu
