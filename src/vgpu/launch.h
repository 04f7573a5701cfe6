// Runs one grid: validates, distributes blocks over workers, gathers the report.
//
//   LaunchReport report = run_grid(state);     // state filled by device.cpp
//
// One worker runs a block from beginning to end unless it spins for another block; then others get
// their turn. Kernels whose result can depend on the order of blocks (program.h: order_sensitive)
// run on one worker, so that a schedule has one outcome on every machine.
#pragma once

#include "vgpu/executor.h"

namespace fiel::vgpu {

void run_grid(LaunchState& launch);
/// Runs the current executor's block until it ends, waits for other blocks, or the launch stops.
enum class BlockEnd : uint8_t { finished, spinning, stopped };
BlockEnd run_block(Executor& executor, Cta& cta);
/// Prepares (or reuses) a block's state for the block at `position` of the schedule.
void start_block(Executor& executor, Cta& cta, uint64_t position);
std::vector<uint32_t> block_order(const Schedule& schedule, uint64_t blocks);

}  // namespace fiel::vgpu
