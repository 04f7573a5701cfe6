// The implementation of vgpu::Device: modules (device.cpp), memory (device_memory.cpp), launches
// (device_launch.cpp).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ptx/module.h"
#include "vgpu/arena.h"
#include "vgpu/device.h"
#include "vgpu/executor.h"
#include "vgpu/heap.h"
#include "vgpu/lower.h"

namespace fiel::vgpu {

struct LoadedModule {
  std::string name;
  std::unique_ptr<ptx::Module> source;
  std::unique_ptr<Program> program;
  std::unique_ptr<Program> contracted;  ///< lowered on the first launch that asks for it
  std::vector<uint64_t> addresses;      ///< by variable
  std::vector<uint64_t> owned;
};

class VirtualDevice final : public Device {
 public:
  VirtualDevice(const DeviceOptions& options, const CoreHandlers& core,
                std::vector<Selector> selectors, std::string isa_name);
  Status start();

  Result<uint32_t> load_module(std::string_view ptx, std::string_view name) override;
  Status unload_module(uint32_t module) override;
  Result<KernelInfo> kernel(uint32_t module, std::string_view name) const override;
  std::vector<std::string> kernels(uint32_t module) const override;
  Result<SymbolInfo> symbol(uint32_t module, std::string_view name) const override;

  Result<uint64_t> allocate(uint64_t bytes, std::string_view label) override;
  Result<uint64_t> map_host(void* memory, uint64_t bytes, std::string_view label) override;
  Status free(uint64_t address) override;
  Status write(uint64_t address, std::span<const std::byte> bytes) override;
  Status read(uint64_t address, std::span<std::byte> bytes) const override;
  Status fill(uint64_t address, uint8_t value, uint64_t bytes) override;
  Status copy(uint64_t to, uint64_t from, uint64_t bytes) override;
  uint64_t memory_in_use() const override { return arena_.in_use() - own_bytes_; }
  uint64_t peak_memory() const override { return arena_.peak() - own_bytes_; }
  void reset_peak() override { arena_.reset_peak(); }
  Status poison(uint64_t address, uint64_t bytes, uint8_t pattern) override;
  Status mark_initialized(uint64_t address, uint64_t bytes) override;
  Status mark_output(uint64_t address) override;
  Result<Coverage> coverage(uint64_t address) const override;

  LaunchReport launch(const LaunchRequest& request) override;
  Result<uint32_t> occupancy(uint32_t module, std::string_view kernel, uint32_t block_threads,
                             uint32_t dynamic_shared_bytes, uint32_t registers) const override;
  const DeviceOptions& options() const override { return options_; }
  std::string isa_name() const override { return isa_name_; }

 private:
  struct Found {
    const LoadedModule* module = nullptr;
    const ptx::Function* function = nullptr;
    uint32_t index = 0;
  };
  Result<Found> find_kernel(uint32_t module, std::string_view name) const;
  Status place_variables(LoadedModule& loaded);
  Status relocate(LoadedModule& loaded, size_t variable, const ptx::Relocation& relocation);
  /// The live allocation that holds the whole range.
  Result<Allocation*> range(uint64_t address, uint64_t bytes, std::string_view what);
  Result<const Allocation*> range(uint64_t address, uint64_t bytes, std::string_view what) const;
  Result<const Program*> contracted_program(const LoadedModule& module);
  bool validate(const LaunchRequest& request, const Found& found, LaunchReport& report) const;
  void prepare(LaunchState& launch, const LaunchRequest& request, const Found& found);
  Finding finding_of(const LaunchState& launch, const Occurrence& occurrence) const;

  DeviceOptions options_;
  const CoreHandlers& core_;
  std::vector<Selector> selectors_;
  std::string isa_name_;
  Arena arena_;
  DeviceHeap heap_;
  uint64_t parameters_ = 0, workspace_ = 0, own_bytes_ = 0;
  std::map<uint32_t, LoadedModule> modules_;
  uint32_t next_module_ = 1;
};

}  // namespace fiel::vgpu
