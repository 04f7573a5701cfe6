// How many blocks fit one multiprocessor of an sm_90 device, from the published limits.
#pragma once

#include <cstdint>

namespace fiel::vgpu {

// CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", 9.0.
inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr uint32_t kMaxWarpsPerMultiprocessor = 64;
inline constexpr uint32_t kMaxBlocksPerMultiprocessor = 32;
inline constexpr uint32_t kRegistersPerMultiprocessor = 65536;
inline constexpr uint32_t kMaxRegistersPerThread = 255;
inline constexpr uint32_t kSharedPerMultiprocessor = 228 * 1024;
inline constexpr uint32_t kSharedPerBlock = 227 * 1024;
inline constexpr uint32_t kSharedReservedPerBlock = 1024;
/// Shared memory is given out in such units: PTX ISA, %total_smem_size.
inline constexpr uint32_t kSharedUnit = 128;
inline constexpr uint32_t whole_shared_units(uint32_t bytes) {
  return (bytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
}

/// registers = 0: not known, no limit from them. 0 = the block cannot run at all.
uint32_t blocks_per_multiprocessor(uint32_t block_threads, uint32_t shared_bytes,
                                   uint32_t registers);

}  // namespace fiel::vgpu
