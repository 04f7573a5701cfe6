// A real GPU behind the interface of the virtual one: what the device process owns under cuda:N.
//
//   FIEL_TRY(auto gpu, CudaDevice::create(driver, 0, {}));
//   auto module = gpu->load_fat_binary(bytes, "module 0");
//   gpu->launch({.module = *module, .kernel = "softmax", …});     // queued: see device/queue.h
//   QueueEnd end = gpu->drain(deadline_ns);
//
// Addresses are checked against what was allocated before the driver sees them. What only the
// virtual GPU can see (races, uninitialised reads, out of bounds by a little) is not reported here.
// One a process, which gives everything back by ending; nothing is released before.
// After a sticky error or a time-out every call fails: the process has to be replaced.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda_driver.h"
#include "device/queue.h"
#include "vgpu/device.h"

namespace fiel::device {

class CudaDevice final : public vgpu::Device, public Queue {
 public:
  static Result<std::unique_ptr<CudaDevice>> create(std::shared_ptr<const CudaDriver> driver,
                                                    int ordinal,
                                                    const vgpu::DeviceOptions& options);
  const GpuInfo& gpu() const { return gpu_; }

  Result<uint32_t> load_module(std::string_view ptx, std::string_view name) override;
  Result<uint32_t> load_fat_binary(std::span<const uint8_t> bytes, std::string_view name) override;
  Status unload_module(uint32_t module) override;
  Result<vgpu::KernelInfo> kernel(uint32_t module, std::string_view name) const override;
  std::vector<std::string> kernels(uint32_t module) const override;
  Result<vgpu::SymbolInfo> symbol(uint32_t module, std::string_view name) const override;

  Result<uint64_t> allocate(uint64_t bytes, std::string_view label) override;
  Result<uint64_t> map_host(void* memory, uint64_t bytes, std::string_view label) override;
  Status free(uint64_t address) override;
  Status write(uint64_t address, std::span<const std::byte> bytes) override;
  Status read(uint64_t address, std::span<std::byte> bytes) const override;
  Status fill(uint64_t address, uint8_t value, uint64_t bytes) override;
  Status copy(uint64_t to, uint64_t from, uint64_t bytes) override;
  uint64_t memory_in_use() const override { return in_use_; }
  uint64_t peak_memory() const override { return peak_; }
  void reset_peak() override { peak_ = in_use_; }
  Status poison(uint64_t address, uint64_t bytes, uint8_t pattern) override;
  Status mark_initialized(uint64_t, uint64_t) override { return {}; }
  Status mark_output(uint64_t address) override;
  Result<vgpu::Coverage> coverage(uint64_t address) const override;
  vgpu::LaunchReport launch(const vgpu::LaunchRequest& request) override;
  Result<uint32_t> occupancy(uint32_t module, std::string_view kernel, uint32_t block_threads,
                             uint32_t dynamic_shared_bytes, uint32_t registers) const override;
  const vgpu::DeviceOptions& options() const override { return options_; }
  std::string isa_name() const override;
  /// Compiles, runs and reads back a kernel of ours: whether the driver works as it is confined.
  Status try_out();
  /// From here on this process's standard output is a file of ours: device printf ends there.
  Status capture_standard_output();

  Status place(uint64_t operation, uint64_t stream, std::span<const uint64_t> after,
               bool awaited) override;
  QueueEnd drain(int64_t deadline_ns) override;
  void begin_times(std::optional<Hold> hold = std::nullopt) override;
  Status next_call() override;
  DeviceTimes end_times() override;
  void begin_launch_times() override;
  std::vector<double> end_launch_times() override;
  Result<uint64_t> map_page(void* page, uint64_t bytes) override;
  void unmap_page(void* page) override;
  Status flush_l2() override;

  /// Memory of another process, as a descriptor of cuMemExportToShareableHandle.
  Result<uint64_t> import_window(int descriptor, uint64_t bytes);
  Status drop_window(uint64_t address);

 private:
  enum class BlockKind : uint8_t { device, host, symbol, window };
  struct Block {
    uint64_t bytes = 0;
    BlockKind kind = BlockKind::device;
    uint64_t base = 0, mapped = 0;  ///< what the driver gave, red zones included
    uint8_t pattern = 0xff;         ///< of its last poisoning
    CUmemHandle handle = 0;
  };
  struct Module {
    CUmodule handle = nullptr;
    std::string name;
  };
  struct Function {
    CUfunction handle = nullptr;
    int max_dynamic_shared = 0;
    bool launched = false;  ///< a first launch may wait for the GPU
  };

  CudaDevice(std::shared_ptr<const CudaDriver> driver, GpuInfo gpu)
      : cu_(std::move(driver)), gpu_(std::move(gpu)) {}
  Status open(const vgpu::DeviceOptions& options);
  Status check(CUresult result, const char* doing) const;
  Status usable() const;
  Result<uint32_t> load_image(const void* image, std::string_view name);
  Result<Function*> function(uint32_t module, std::string_view name) const;
  Block* block_at(uint64_t address, uint64_t bytes) const;
  Status give_back(uint64_t address, const Block& block);
  Status settle() const;
  CUresult wait_for(CUstream stream, int64_t deadline_ns) const;

  // cuda_queue.cpp
  Result<CUstream> stream_for(uint64_t number);
  Result<CUevent> take_event();
  Result<CUevent> take_timed_event();
  Status close_operation();
  Status enter_batch(CUstream stream);
  Status begin_batch(CUstream stream);
  Status begin_span(CUstream stream);
  Status end_span();
  CUresult launch_timed(const CuLaunchConfig& config, CUfunction function, void** extra);
  void open_gate() const;
  QueueEnd lose(CUresult result);
  std::string take_printed();
  void count_queued();

  std::shared_ptr<const CudaDriver> cu_;
  GpuInfo gpu_;
  vgpu::DeviceOptions options_;
  mutable CUresult lost_ = kCuSuccess;  ///< the sticky error that ended this device
  std::vector<Module> modules_;
  mutable std::map<std::pair<uint32_t, std::string>, Function> functions_;
  mutable std::map<uint64_t, Block> blocks_;
  uint64_t in_use_ = 0, peak_ = 0;
  std::vector<uint64_t> doomed_;  ///< freed while work was queued

  // The queue: see cuda_queue.cpp.
  static constexpr size_t kMaxRealStreams = 64;
  CUstream clock_ = nullptr, current_ = nullptr;
  std::map<uint64_t, CUstream> streams_;
  std::vector<CUstream> used_;  ///< in this batch
  std::vector<CUevent> events_;
  size_t events_taken_ = 0;
  std::map<uint64_t, CUevent> done_;  ///< of awaited operations of this batch
  uint64_t operation_ = 0;
  bool awaited_ = false;
  uint32_t queued_ = 0;
  std::vector<std::string> running_;  ///< kernels of this batch, for the message when one faults
  bool timing_ = false;
  volatile uint32_t* gate_ = nullptr;
  CUdeviceptr gate_address_ = 0;
  mutable bool gate_closed_ = false;
  mutable bool held_ = true;  ///< the gate stayed closed until the batch was complete
  std::optional<Hold> hold_;  ///< instead of the gate
  struct Span {               ///< a call's part of a batch
    CUevent begin = nullptr, end = nullptr;
    uint32_t call = 0;
  };
  std::vector<Span> spans_;
  std::vector<CUevent> timed_events_;
  size_t timed_events_taken_ = 0;
  CUstream lead_ = nullptr;        ///< where the latest span's events are
  std::vector<CUstream> in_span_;  ///< streams that follow its begin
  bool span_open_ = false;
  uint32_t call_ = 0;
  bool timing_launches_ = false;
  std::vector<Span> launch_spans_;
  DeviceTimes times_;
  uint64_t flush_buffer_ = 0;
  int printed_fd_ = -1;
};

}  // namespace fiel::device
