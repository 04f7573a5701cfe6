// What the judge asks of the device process. Both are ours; a reply is {u32 ok, results…} or
// {u32 0, u32 ErrorCode, what, hint}.
#pragma once

#include <cstdint>

namespace fiel::worker {

inline constexpr int kControlFd = 3, kControlWindowFd = 4, kRuntimeFd = 5;
inline constexpr uint64_t kControlWindowBytes = 16ull << 20;
inline constexpr uint32_t kMaxControlMessage = 512u << 20;

enum class Ctl : uint16_t {
  /// {i32 cuda ordinal or -1, u8 GpuConfinement, DeviceOptions, u8 with candidate} -> DeviceFacts
  initialize = 1,
  allocate,        ///< {u64 bytes, text label} -> {u64 address}
  free_memory,     ///< {u64 address}
  write,           ///< {u64 address, u64 bytes}: bytes are in the window
  read,            ///< {u64 address, u64 bytes}: into the window
  poison,          ///< {u64 address, u64 bytes, u8 pattern}
  mark_output,     ///< {u64 address}
  coverage,        ///< {u64 address} -> Coverage
  start,           ///< {settings, i64 timeout_ms} -> CallOutcome
  call,            ///< {settings, i64 timeout_ms, tensors} -> CallOutcome
  kernels,         ///< {} -> {u32 n, KernelInfo[n]}
  load_module,     ///< {text name, blob PTX} -> {u32 module}: plans
  module_kernels,  ///< {u32 module} -> {u32 n, KernelInfo[n]}
  launch,          ///< {settings, i64 timeout_ms, u32 module, launch} -> LaunchReport
  import_window,   ///< {u64 bytes} + descriptor -> {u64 address}
  drop_window,     ///< {u64 address}
  clock,           ///< {settings, i64 call timeout_ms, u32 n, tensors[n]} + page -> ClockOutcome
  reply = 0x100,
};

}  // namespace fiel::worker
