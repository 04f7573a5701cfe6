// What nvcc's host code registered: modules, kernels by host function, variables by host address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "channel.h"

namespace fiel::standin {

struct KernelEntry {
  uint32_t module = 0;
  std::string name;
  bool resolved = false;
  worker::KernelReply info;
  std::vector<std::pair<uint32_t, uint32_t>> parameters;  ///< offset, bytes
  int max_dynamic_shared = -1, carveout = -1;             ///< what cudaFuncSetAttribute set
};

/// By host function, by the handle of __cudaGetKernel, or nullptr.
KernelEntry* find_kernel(const void* function);
/// Asks the device for the kernel once. The error is already recorded.
Error resolve(KernelEntry& kernel);
/// Device address and size of a `__device__` or `__constant__` variable.
Error find_symbol(const void* host_variable, uint64_t& address, uint64_t& bytes);
/// The launch as it goes over the channel, arguments packed as the PTX declares them.
Error pack_launch(const void* function, Dim3 grid, Dim3 block, void** args, size_t shared,
                  Handle stream, bool cooperative, WireWriter& out);

/// Shared memory that the device handed out, mapped at the device's address.
Error map_region(const Reply& reply, uint64_t bytes, uint32_t kind, uint64_t& address);
/// The region that holds `p`: kind 0 when none does.
struct Region {
  uint64_t base = 0, bytes = 0, mapped = 0;
  uint32_t kind = 0;
};
Region find_region(const void* p);
bool unmap_region(uint64_t base);

}  // namespace fiel::standin
