// What a launch did, counted at PTX level: memory transactions, bank conflicts, divergence, mix.
// Addresses carry over to a GPU; instruction counts do not (ptxas merges, unrolls, if-converts).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fiel::vgpu {

enum class MixClass : uint8_t {
  fp32,
  fp64,
  half,
  integer,
  special_function,
  tensor,
  load_store,
  shared,
  control,
  warp,
  barrier,
  atomic,
  convert,
  other,
  kCount
};
const char* name_of(MixClass c);

struct MemoryCounters {
  uint64_t requests = 0;       ///< warp-level instructions
  uint64_t sectors = 0;        ///< distinct 32-byte sectors, summed over requests
  uint64_t ideal_sectors = 0;  ///< ceil(distinct bytes asked for / 32), summed
  uint64_t bytes = 0;          ///< bytes that lanes asked for
  void operator+=(const MemoryCounters& o) {
    requests += o.requests;
    sectors += o.sectors;
    ideal_sectors += o.ideal_sectors;
    bytes += o.bytes;
  }
};
struct SharedCounters {
  uint64_t requests = 0;
  uint64_t wavefronts = 0;  ///< max over banks of distinct words, per phase, summed
  uint64_t ideal_wavefronts = 0;
  void operator+=(const SharedCounters& o) {
    requests += o.requests;
    wavefronts += o.wavefronts;
    ideal_wavefronts += o.ideal_wavefronts;
  }
};

/// Counters of one source line (or of the whole kernel).
struct LineMetrics {
  uint32_t ptx_line = 0;  ///< first PTX line of this source line; 0 for totals
  std::string file;
  uint32_t line = 0;
  uint64_t warp_instructions = 0, thread_instructions = 0, predicated_off = 0;
  uint64_t branches = 0, divergent_branches = 0;
  MemoryCounters global_loads, global_stores, local_memory, atomics;
  SharedCounters shared_loads, shared_stores;
  uint64_t atomic_contention = 0;  ///< max lanes of one request on one address
  uint64_t barriers = 0;
  uint64_t flops = 0;                                                 ///< fma = 2, mma = 2·m·n·k
  std::array<uint64_t, static_cast<size_t>(MixClass::kCount)> mix{};  ///< thread instructions
};

struct KernelMetrics {
  LineMetrics total;
  std::vector<LineMetrics> lines;  ///< by source line, in PTX order
  uint64_t unique_global_bytes_read = 0, unique_global_bytes_written = 0;  ///< compulsory traffic
  uint32_t static_shared_bytes = 0, local_bytes = 0;
  double mean_active_lanes() const {
    return total.warp_instructions == 0 ? 0.0
                                        : static_cast<double>(total.thread_instructions) /
                                              static_cast<double>(total.warp_instructions);
  }
};

}  // namespace fiel::vgpu
