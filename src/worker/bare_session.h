// A bare kernel at work: a sandboxed candidate process that holds the kernel's host code, and the
// device it runs on, which the candidate reaches only through the stand-in CUDA runtime.
//
//   FIEL_TRY(auto session, BareSession::start(options));
//   uint64_t x = *session->allocate(bytes, "x");
//   session->write(x, host_bytes);
//   CallOutcome outcome = session->call({inputs, outputs, .timeout_ms = 10'000});
//   session->read(y, result);
//
// Trust: device memory lives in a process of ours; the candidate never holds an answer, a seed or a
// file of the judge's. What the candidate says (return code, output text) is shown, never believed.
// After a crash, time-out or protocol violation the session is dead: start another.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/device_name.h"
#include "sandbox/isolation.h"
#include "tensor/tensor.h"
#include "vgpu/device.h"

namespace fiel::worker {

struct BareSessionOptions {
  std::string shared_object;           ///< what build/ made of the kernel
  sandbox::IsolationPolicy isolation;  ///< required level, limits on memory, processes, files
  device::DeviceName where;            ///< the virtual GPU, or cuda:N
  vgpu::DeviceOptions device;
  vgpu::Checks checks;
  vgpu::Schedule schedule;
  vgpu::Contract contract = vgpu::Contract::off;
  uint64_t instruction_budget = 50'000'000'000ull;  ///< a call
  int64_t start_timeout_ms = 20'000;
};

struct DeviceTensor {
  uint64_t address = 0;
  DType dtype = DType::f32;
  Shape shape, strides;
};

struct CallRequest {
  std::vector<DeviceTensor> inputs, outputs;
  int64_t timeout_ms = 60'000;
  std::optional<vgpu::Schedule> schedule;  ///< overrides the session's for this call
  std::optional<vgpu::Contract> contract;  ///< likewise
  bool every_stream =
      false;              ///< wait for all streams, as cudaDeviceSynchronize: nothing is unjoined
  bool timed = false;     ///< measure it: CallOutcome::times (on a GPU; calls before it warm it up)
  bool cold = true;       ///< timed: second-level cache flushed first
  bool profiled = false;  ///< each launch's own device_ns (on a GPU; not of a timed call)
};

enum class CallStatus : uint8_t {
  returned,      ///< fiel_run returned; see return_code and launches
  unsupported,   ///< it returned FIEL_UNSUPPORTED
  crashed,       ///< the candidate process died: `signal` or `exit_code`
  timeout,       ///< wall time over; it was killed
  device_fault,  ///< a launch faulted, deadlocked or ran out of its budget: see the last launch
  limit,         ///< memory, process, file or output limit: `message` says which
  protocol,      ///< it spoke garbage on its channel: tampering with the stand-in runtime
};

/// Of one timed call, on clocks that the candidate's process cannot reach. A hostile kernel could
/// write over the device's events: host clocks bound them.
struct CallTimes {
  double device_ns = 0;  ///< first start to last end of everything the call put on any stream
  double busy_ns = 0;    ///< the same without the pauses in which the kernel's host code waited
  double host_ns = 0;    ///< until fiel_run had returned; its requests are passed on by a channel
  double lead_ns = 0;    ///< of that, until the device was first given work
  double wall_ns = 0;    ///< until the work was done
  uint32_t batches = 0;  ///< times that the host waited for the device; 1: at the end only
  bool queued_whole = false;  ///< no launch latency in device_ns
};

struct LaunchRecord {
  std::string kernel;
  vgpu::Dim3 grid, block;
  uint32_t dynamic_shared_bytes = 0;
  vgpu::LaunchReport report;
  double device_ns = 0;  ///< of a profiled call; 0: not measured
};

struct CallOutcome {
  CallStatus status = CallStatus::returned;
  int return_code = 0;
  int signal = 0, exit_code = 0;
  std::string message;                 ///< one line for a person
  std::vector<LaunchRecord> launches;  ///< at most 4096; then counted in launches_dropped
  uint64_t launches_dropped = 0;
  std::string runtime_error;   ///< sticky CUDA error of the call: "cudaErrorInvalidValue"
  std::string output;          ///< candidate's stdout+stderr+device printf, bounded
  uint64_t output_bytes = 0;   ///< all that it printed, kept or not
  uint64_t unjoined_work = 0;  ///< launches or copies left on streams not ordered before `stream`
  int64_t wall_ns = 0;         ///< ours, for limits; never a speed
  uint64_t candidate_allocated_bytes = 0;  ///< device memory the candidate holds after the call
  uint64_t peak_device_bytes = 0;
  /// What the device does not do, where the call needed it: PTX that the virtual GPU refused, with
  /// its line, or a request of the runtime. `unsupported`.
  std::string beyond_device;
  uint64_t stray_requests = 0;     ///< CUDA calls made outside a call (background threads): refused
  std::optional<CallTimes> times;  ///< of a timed call on a GPU
  bool asked_for_time = false;     ///< used cudaEventElapsedTime, which is always 0 here
};

/// Slots of the oracle's clock, and the page on which it asks: docs/torch-workers.md#clock.
struct ClockRequest {
  std::vector<CallRequest> slots;  ///< addresses within imported windows
  int page = -1;                   ///< descriptor of the control page; stays the caller's
  int64_t call_timeout_ms = 10'000;
};
struct ClockOutcome {
  uint64_t calls = 0;
  bool all_queued_whole = true;  ///< false: launch latency, or waiting host code, is in some times
  CallOutcome last;              ///< of the last call; the one that ended the loop where one failed
};

class BareSession {
 public:
  static Result<std::unique_ptr<BareSession>> start(const BareSessionOptions& options);
  virtual ~BareSession() = default;

  virtual Result<uint64_t> allocate(uint64_t bytes, std::string_view label) = 0;
  virtual Status free(uint64_t address) = 0;
  virtual Status write(uint64_t address, std::span<const std::byte> bytes) = 0;
  virtual Status read(uint64_t address, std::span<std::byte> bytes) = 0;
  virtual Status poison(uint64_t address, uint64_t bytes, uint8_t pattern) = 0;
  virtual Status mark_output(uint64_t address) = 0;
  virtual Result<vgpu::Coverage> coverage(uint64_t address) = 0;
  /// False on a GPU: coverage() is then a guess from bytes that still hold the poison.
  virtual bool counts_writes() const { return true; }

  /// Another process's memory (a descriptor of cuMemCreate; a memfd on the virtual GPU) as device
  /// memory: docs/torch-workers.md. The descriptor stays the caller's.
  virtual Result<uint64_t> import_window(int, uint64_t) {
    return fail(ErrorCode::unsupported, "this session imports no windows");
  }
  virtual Status drop_window(uint64_t) {
    return fail(ErrorCode::unsupported, "this session imports no windows");
  }

  /// Enters the timed loop and returns; end_clock() waits for its end, which the oracle's `leave`
  /// brings, and until then nothing else may be asked. Meanwhile pump_clock() reads what the
  /// candidate prints; it says whether the loop goes on.
  virtual Status begin_clock(const ClockRequest&) {
    return fail(ErrorCode::unsupported, "this session serves no clock");
  }
  virtual bool pump_clock(int) { return false; }
  virtual Result<ClockOutcome> end_clock(int64_t) {
    return fail(ErrorCode::unsupported, "this session serves no clock");
  }

  virtual CallOutcome call(const CallRequest& request) = 0;
  virtual bool alive() const = 0;
  virtual const sandbox::IsolationReport& isolation() const = 0;  ///< what was really in force
  /// What the kernel's module holds: registers and spills come from build/, the rest from PTX.
  virtual std::vector<vgpu::KernelInfo> kernels() = 0;
};

}  // namespace fiel::worker
