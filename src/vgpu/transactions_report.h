// Adds what the observers of a launch counted to its KernelMetrics.
#pragma once

#include "vgpu/executor.h"
#include "vgpu/metrics.h"

namespace fiel::vgpu {

/// Memory transactions of each line and in all, and the distinct bytes touched. `metrics` is what
/// count_instructions() made: its lines are found again by file and line.
void add_transactions(const LaunchState& launch, KernelMetrics& metrics);

}  // namespace fiel::vgpu
