// The virtual GPU: an sm_90-like device that executes PTX on the CPU and watches every access.
//
//   auto gpu = vgpu::Device::create({});
//   auto module = (*gpu)->load_module(ptx_text, "softmax.cu");
//   uint64_t x = *(*gpu)->allocate(bytes, "x");
//   (*gpu)->write(x, host); auto report = (*gpu)->launch({.module=*module, .kernel="softmax", …});
//
// Device pointers are addresses in this process's arena, but nothing outside may dereference them.
// All calls are synchronous; streams are the caller's business (worker/device_server). It says
// nothing about time: instruction counts are PTX's, not a GPU's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vgpu/findings.h"
#include "vgpu/metrics.h"

namespace fiel::vgpu {

enum class IsaChoice : uint8_t { automatic, avx2, avx512 };
enum class Contract : uint8_t { off, on };  ///< fuse unrounded mul.f32 + add.f32, as ptxas may

struct DeviceOptions {
  uint64_t memory_bytes = 8ull << 30;  ///< what cudaMemGetInfo reports and allocate() enforces
  uint64_t heap_bytes = 8ull << 20;    ///< device malloc
  uint32_t stack_bytes = 64u << 10;    ///< per-thread local + call stack limit
  uint32_t threads = 0;                ///< worker threads; 0 = all cores
  IsaChoice isa = IsaChoice::automatic;
  uint32_t multiprocessors = 132;  ///< for occupancy and cooperative limits
};

/// Checks that can be switched; bounds and alignment are always on.
struct Checks {
  bool initialization = true;
  bool coverage = true;
  bool shared_races = true;
  bool global_races = false;  ///< 16 B of shadow per touched word
  bool metrics = true;
};

/// The order in which blocks, warps and splits run. seed 0 = natural order. One schedule has one
/// outcome, with one exception: under the natural order several workers run blocks, and where
/// blocks race on plain memory the last writer may differ from run to run. A seed or a quantum,
/// atomics whose results are used, cooperative grids and global_races all run on one worker.
struct Schedule {
  uint64_t seed = 0;
  bool reverse_blocks = false;
  bool reverse_warps = false;
  uint32_t quantum =
      0;  ///< instructions a warp runs before it may be exchanged; 0 = until it waits
};

struct LaunchRequest {
  uint32_t module = 0;
  std::string kernel;
  Dim3 grid, block;
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<uint8_t> parameters;  ///< the .param block, laid out as the PTX declares it
  Checks checks;
  Schedule schedule;
  Contract contract = Contract::off;
  uint64_t instruction_budget = 200'000'000'000ull;  ///< thread-instructions; then `runaway`
  std::function<bool()> cancelled;              ///< polled; true stops the launch (time limits)
  std::function<void(std::string_view)> print;  ///< device printf; at most 1 MiB a launch
};

enum class LaunchStatus : uint8_t {
  completed,  ///< ran to its end; `findings` may still hold errors
  invalid,    ///< refused before it ran (cudaErrorInvalidValue …): see `refusal`
  faulted,    ///< a finding stopped it, as a GPU would (out of bounds, trap, assert)
  deadlocked,
  out_of_budget,
  cancelled,
};
enum class Refusal : uint8_t {
  none,
  invalid_value,
  invalid_configuration,
  too_many_resources,
  cooperative_too_large,
  missing_symbol
};

struct LaunchReport {
  LaunchStatus status = LaunchStatus::completed;
  Refusal refusal = Refusal::none;
  std::string message;            ///< for everything but completed
  std::vector<Finding> findings;  ///< grouped; at most 256 groups, then `findings_dropped`
  uint64_t findings_dropped = 0;
  uint64_t thread_instructions = 0;
  KernelMetrics metrics;  ///< empty unless checks.metrics
};

struct KernelInfo {
  std::string name;
  std::vector<uint32_t> parameter_offsets, parameter_bytes;
  std::vector<bool>
      parameter_is_pointer;  ///< .ptr, or u64 without it: a guess, for arguments' checks
  uint32_t parameter_block_bytes = 0;
  uint32_t static_shared_bytes = 0, local_bytes = 0;
  uint32_t max_threads = 1024;   ///< .maxntid
  Dim3 required_block{0, 0, 0};  ///< .reqntid
};
struct SymbolInfo {
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool constant = false;
};

/// Bytes of an allocation that launches since mark_output() have written, as runs. An atomic adds
/// to what is there: it writes a byte, but not once more.
struct Coverage {
  uint64_t bytes = 0, written = 0, written_more_than_once = 0;
  uint64_t copied = 0;  ///< bytes that write(), fill() and copy() put there meanwhile
  struct Run {
    uint64_t begin = 0, end = 0;
  };
  std::vector<Run> missing;  ///< first 64 runs of unwritten bytes
};

struct GuardViolation {
  std::string label;
  uint64_t address = 0;
  int64_t offset = 0;
};

class Device {
 public:
  static Result<std::unique_ptr<Device>> create(const DeviceOptions& options);
  virtual ~Device() = default;

  /// Parses, verifies and lowers; unsupported constructs are named with their line here, not later.
  virtual Result<uint32_t> load_module(std::string_view ptx, std::string_view name) = 0;
  virtual Status unload_module(uint32_t module) = 0;
  virtual Result<KernelInfo> kernel(uint32_t module, std::string_view name) const = 0;
  virtual std::vector<std::string> kernels(uint32_t module) const = 0;
  virtual Result<SymbolInfo> symbol(uint32_t module, std::string_view name) const = 0;

  /// 256-byte aligned, red zones of at least 4 KiB on both sides; uninitialised (poisoned with NaN
  /// bytes 0xff, shadow says so). ErrorCode::limit when memory_bytes would be exceeded.
  virtual Result<uint64_t> allocate(uint64_t bytes, std::string_view label) = 0;
  /// Maps host memory (a MAP_SHARED region of this process) as device memory, initialised:
  /// managed and pinned allocations. The region must outlive the allocation.
  virtual Result<uint64_t> map_host(void* memory, uint64_t bytes, std::string_view label) = 0;
  virtual Status free(uint64_t address) = 0;
  virtual Status write(uint64_t address, std::span<const std::byte> bytes) = 0;
  virtual Status read(uint64_t address, std::span<std::byte> bytes) const = 0;  ///< no init check
  virtual Status fill(uint64_t address, uint8_t value, uint64_t bytes) = 0;
  virtual Status copy(uint64_t to, uint64_t from, uint64_t bytes) = 0;  ///< carries initialisation
  virtual uint64_t memory_in_use() const = 0;
  virtual uint64_t peak_memory() const = 0;
  virtual void reset_peak() = 0;

  /// Forgets what was written: uninitialised again and refilled with `pattern`.
  virtual Status poison(uint64_t address, uint64_t bytes, uint8_t pattern) = 0;
  /// Host-side knowledge that bytes are meaningful (managed memory written by the host).
  virtual Status mark_initialized(uint64_t address, uint64_t bytes) = 0;
  virtual Status mark_output(uint64_t address) = 0;  ///< start counting coverage
  virtual Result<Coverage> coverage(uint64_t address) const = 0;

  virtual LaunchReport launch(const LaunchRequest& request) = 0;

  /// Blocks of this kernel that fit one multiprocessor, from threads, shared memory and, when
  /// `registers` is not 0, registers a thread (ptxas says; PTX does not know).
  virtual Result<uint32_t> occupancy(uint32_t module, std::string_view kernel,
                                     uint32_t block_threads, uint32_t dynamic_shared_bytes,
                                     uint32_t registers) const = 0;
  virtual const DeviceOptions& options() const = 0;
  virtual std::string isa_name() const = 0;  ///< "avx2" or "avx512"
};

}  // namespace fiel::vgpu
