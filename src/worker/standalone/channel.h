// The candidate's end of the runtime channel: one request at a time, from whichever thread.
//
//   WireWriter w;  w.put<uint64_t>(bytes);
//   Reply r;  Error e = call(Rt::allocate, w, &r);
//   uint64_t address = r.reader().get<uint64_t>();
//
// Without a channel (the library was loaded by something other than Fiel's runner) every call says
// cudaErrorNoDevice. After a fork the child has no device, as with CUDA.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cuda_abi.h"
#include "worker/cuda_error.h"
#include "worker/runtime_protocol.h"
#include "worker/wire.h"

namespace fiel::standin {

using worker::Rt;
using worker::WireReader;
using worker::WireWriter;

struct Reply {
  std::vector<uint8_t> bytes;
  int fd = -1;
  /// The results, behind the error number.
  WireReader reader() const {
    WireReader r(bytes);
    r.get<int32_t>();
    return r;
  }
};

/// Sends, serves callbacks, waits for the reply. Safe from any thread.
Error call(Rt op, const WireWriter& request, Reply* reply = nullptr);
/// Sends without waiting; `number` is that of the `run` that it answers.
Error post(Rt op, const WireWriter& request, uint32_t number = 0);
/// Runs `fiel_run` for each request until the channel closes.
void serve(int (*fiel_run)(const void*, int, void*, int, void*));

/// The memory that carries bulk data; held exclusively while the lock lives.
class WindowLock {
 public:
  WindowLock();
  ~WindowLock();
  std::byte* data() const;  ///< nullptr without a channel
};

struct DeviceFacts {
  uint64_t memory_bytes = 0;
  uint32_t multiprocessors = 132;
};
DeviceFacts device_facts();

/// Records the error for cudaGetLastError and hands it on.
Error set_error(Error error);
/// This device does not do it: told to the device process, since the call may fail for it.
Error not_supported(std::string_view what);
Error take_error();
Error peek_error();

}  // namespace fiel::standin
