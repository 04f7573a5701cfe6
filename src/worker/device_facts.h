// What the device process says of its device when it has started.
#pragma once

#include <cstdint>
#include <string>

#include "sandbox/isolation.h"
#include "worker/wire.h"

namespace fiel::worker {

struct DeviceFacts {
  std::string isa;         ///< "avx512", or "sm_90a" on a GPU
  std::string name, uuid;  ///< of a GPU; empty on the virtual one
  uint64_t memory_bytes = 0, l2_bytes = 0;
  uint32_t multiprocessors = 0;
  sandbox::IsolationReport confinement;  ///< of the process that owns the GPU's context
};

void write(WireWriter& w, const DeviceFacts& facts);
DeviceFacts read_device_facts(WireReader& r);

}  // namespace fiel::worker
