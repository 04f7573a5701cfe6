// Executed instructions by source line, from the run loop's counts of blocks.
#pragma once

#include "vgpu/executor.h"

namespace fiel::vgpu {

/// Everything of KernelMetrics that needs no addresses; `lines` in PTX order.
KernelMetrics count_instructions(const LaunchState& launch);
/// The source frames of a statement, innermost first.
std::vector<SourceFrame> source_frames(const ptx::Module& module, int32_t source);
/// Of the innermost frame: what `lines` are grouped by.
uint64_t line_key(const ptx::Module& module, int32_t source, int depth = 64);

}  // namespace fiel::vgpu
