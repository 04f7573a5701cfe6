#include "vgpu/occupancy.h"

#include <algorithm>

namespace fiel::vgpu {
namespace {
constexpr uint32_t kRegisterUnit = 256;  ///< registers are given out in such units, a warp
constexpr uint32_t kPartitions = 4;      ///< a warp's registers come from one of four files
}  // namespace

uint32_t blocks_per_multiprocessor(uint32_t block_threads, uint32_t shared_bytes,
                                   uint32_t registers) {
  if (block_threads == 0 || block_threads > kMaxThreadsPerBlock || shared_bytes > kSharedPerBlock ||
      registers > kMaxRegistersPerThread)
    return 0;
  const uint32_t warps = (block_threads + 31) / 32;
  uint32_t blocks = std::min(kMaxBlocksPerMultiprocessor, kMaxWarpsPerMultiprocessor / warps);
  if (registers != 0) {
    const uint32_t a_warp = (registers * 32 + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    const uint32_t warps_a_file = kRegistersPerMultiprocessor / kPartitions / a_warp;
    blocks = std::min(blocks, warps_a_file * kPartitions / warps);
  }
  const uint32_t shared = whole_shared_units(shared_bytes + kSharedReservedPerBlock);
  return std::min(blocks, kSharedPerMultiprocessor / shared);
}

}  // namespace fiel::vgpu
