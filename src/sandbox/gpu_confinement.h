// Locks a process that owns a GPU's context into what CUDA's driver needs from then on.
//
//   IsolationReport report = confine_gpu_process(GpuConfinement::files_and_calls);
//
// The driver reads system files and starts threads at any time, so the allow list of a pure
// computation is out of reach. Denied are other programs, the network, other processes, the
// kernel's rarer interfaces, and every file but system files (to read) and /dev/nvidia* (to use).
// Calls are denied to all threads; files to the calling thread and those that it starts, not to the
// driver's own. What this machine cannot enforce is named in `missing`.
#pragma once

#include <cstdint>

#include "sandbox/isolation.h"

namespace fiel::sandbox {

enum class GpuConfinement : uint8_t { none, calls, files_and_calls };

IsolationReport confine_gpu_process(GpuConfinement wanted);

}  // namespace fiel::sandbox
