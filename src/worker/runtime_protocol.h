// What the stand-in CUDA runtime asks of the device process, and what comes back.
//
// The candidate's side of the channel is hostile: the device process checks every field, and a
// malformed message ends the session (status `protocol`). Each request gets one `reply`
// {i32 CUDA error, results…}; before it the device may send `callback`s, which the candidate
// answers with `callback_done`. Outside a call the device reads nothing from this channel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fiel::worker {

inline constexpr int kCandidateChannelFd = 3;  ///< where the runner finds its socket
inline constexpr uint32_t kMaxRuntimeMessage = 64u << 20;
inline constexpr uint64_t kRuntimeWindowBytes = 8ull << 20;  ///< shared memory for bulk data
inline constexpr uint32_t kMaxParameterBytes = 32764;  ///< of a launch, as CUDA 12.1 and later
inline constexpr uint32_t kMaxTensors = 256;

/// Candidate -> device. New requests go to the end: the numbers are the protocol's version.
enum class Rt : uint16_t {
  hello = 1,          ///< {} -> {u64 device memory, u32 multiprocessors} + window descriptor
  ready,              ///< {} no reply: the kernel is loaded and waits for `run`
  load_failed,        ///< {text} no reply
  returned,           ///< {i32 code, i32 last CUDA error} no reply; has the sequence of `run`
  callback_done,      ///< {u32 ok}
  register_module,    ///< {blob fatbin or PTX} -> {u32 module}
  unregister_module,  ///< {u32 module}
  kernel,             ///< {u32 module, text} -> KernelReply
  symbol,             ///< {u32 module, text} -> {u64 address, u64 bytes}
  managed_symbol,     ///< {u32 module, text, u64 bytes} -> {u64 address} + descriptor
  allocate,           ///< {u64 bytes} -> {u64 address}
  free_memory,        ///< {u64 address, u64 stream, u32 ordered}
  allocate_host,      ///< {u64 bytes, u32 kind} -> {u64 address, u64 mapped bytes} + descriptor
  free_host,          ///< {u64 address}
  memory_info,        ///< {} -> {u64 free, u64 total}
  classify,           ///< {u64 address} -> {u32 PointerKind, u64 base, u64 bytes}
  copy,               ///< CopyRequest: device to device
  upload,             ///< CopyRequest: window -> device
  download,           ///< CopyRequest: device -> window
  copy_deferred,      ///< CopyRequest whose host side is fetched or stored when it runs (graphs)
  fill,               ///< FillRequest
  launch,             ///< LaunchHeader, blob parameters
  host_function,      ///< {u64 stream, u64 function, u64 data, u32 style}
  stream_create,      ///< {u32 flags} -> {u64 stream}
  stream_destroy,     ///< {u64 stream}
  stream_synchronize,
  stream_query,
  stream_wait_event,  ///< {u64 stream, u64 event}
  stream_info,        ///< {u64 stream} -> {u32 flags, u32 capturing}
  event_create,       ///< {} -> {u64 event}
  event_destroy,      ///< {u64 event}
  event_record,       ///< {u64 stream, u64 event}
  event_synchronize,
  event_query,
  device_synchronize,
  occupancy,             ///< {u32 kernel, u32 threads, u64 dynamic} -> {u32 blocks}
  set_kernel_attribute,  ///< {u32 kernel, u32 which, i32 value}
  capture_begin,         ///< {u64 stream}
  capture_end,           ///< {u64 stream} -> {u64 graph}
  graph_create,          ///< {} -> {u64 graph}
  graph_destroy,         ///< {u64 graph}
  graph_add,             ///< {u64 graph, u32 n, u64 deps[n], node} -> {u64 node}
  graph_set_node,        ///< {u64 graph or exec, u64 node, node}
  graph_nodes,           ///< {u64 graph} -> {u32 n, {u64 node, u32 kind}[n]}
  graph_instantiate,     ///< {u64 graph} -> {u64 exec}
  graph_launch,          ///< {u64 exec, u64 stream}
  exec_update,           ///< {u64 exec, u64 graph}
  exec_destroy,          ///< {u64 exec}
  graph_clone,           ///< {u64 graph} -> {u64 graph}
  graph_add_edges,       ///< {u64 graph, u32 n, {u64 from, u64 to}[n]}
  elapsed_time_asked,    ///< {}: the candidate asked for a time, which does not exist here
  not_supported,         ///< {text}: it asked for what this device does not do; always an error
};

/// Device -> candidate.
enum class FromDevice : uint16_t {
  reply = 0x100,  ///< {i32 error, …}
  callback,       ///< CallbackHeader
  run,            ///< {u64 stream, u32 n_in, u32 n_out, tensors}; its sequence is drawn
};

enum class CallbackKind : uint32_t {
  host_function,    ///< call function(data)
  stream_callback,  ///< call function(stream, error, data)
  fetch,            ///< copy `bytes` at `function` into the window
  store,            ///< copy `bytes` from the window to `function`
};
struct CallbackHeader {
  uint32_t kind = 0;
  int32_t error = 0;
  uint64_t function = 0, data = 0, stream = 0, bytes = 0;
};

enum class PointerKind : uint32_t { unknown, device, managed, pinned };

struct CopyRequest {
  uint64_t stream = 0;
  uint64_t to = 0, from = 0;
  uint64_t to_pitch = 0, from_pitch = 0;  ///< used when height > 1
  uint64_t width = 0, height = 1;
  uint32_t wait = 0;       ///< synchronous with respect to the host
  uint32_t host_side = 0;  ///< copy_deferred: 1 = `from` is host memory, 2 = `to` is
};
struct FillRequest {
  uint64_t stream = 0, to = 0, pitch = 0, width = 0, height = 1;
  uint32_t value = 0, wait = 0;
};
struct LaunchHeader {
  uint64_t stream = 0;
  uint32_t kernel = 0;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t cooperative = 0;
  uint64_t dynamic_shared_bytes = 0;
};
/// Follows the error in the reply to `kernel`; then n × {u32 offset, u32 bytes}.
struct KernelReply {
  uint32_t kernel = 0;
  uint32_t max_threads = 1024, static_shared_bytes = 0, local_bytes = 0;
  uint32_t parameter_block_bytes = 0, n_parameters = 0;
};
/// Graph nodes on the wire: u32 kind, then the matching request (launch with its blob).
enum class NodeKind : uint32_t { kernel = 0, copy = 1, fill = 2, host = 3, child = 4, empty = 5 };
enum KernelAttribute : uint32_t { kMaxDynamicSharedBytes = 8, kPreferredCarveout = 9 };

/// Same layout as fiel_tensor in fiel/kernel.h.
struct WireTensor {
  uint64_t data = 0;
  int32_t dtype = 0, rank = 0;
  int64_t shape[8] = {}, stride[8] = {};
};

inline constexpr uint64_t kLegacyStream = 1, kPerThreadStream = 2;  // 0 means legacy too
inline constexpr uint64_t kFirstHandle = 0x100;  ///< streams, events, graphs count up from here
inline constexpr uint64_t kHandleStep = 0x10;

}  // namespace fiel::worker
