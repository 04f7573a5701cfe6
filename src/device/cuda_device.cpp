#include "device/cuda_device.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace fiel::device {
namespace {

constexpr size_t kMaxParameters = 4096;
constexpr uint64_t kPrintfBytes = 1u << 20;
constexpr unsigned kMaxListedKernels = 4096;

vgpu::LaunchReport refused(vgpu::Refusal refusal, std::string message) {
  vgpu::LaunchReport r;
  r.status = vgpu::LaunchStatus::invalid;
  r.refusal = refusal;
  r.message = std::move(message);
  return r;
}

vgpu::Refusal refusal_of(CUresult result) {
  constexpr CUresult kInvalidHandle = 400, kOutOfResources = 701, kCooperativeTooLarge = 720,
                     kInvalidCluster = 912;
  switch (result) {
    case kInvalidHandle:
    case kCuNotFound:
      return vgpu::Refusal::missing_symbol;
    case kOutOfResources:
      return vgpu::Refusal::too_many_resources;
    case kCooperativeTooLarge:
      return vgpu::Refusal::cooperative_too_large;
    case kInvalidCluster:
      return vgpu::Refusal::invalid_configuration;
    default:
      return vgpu::Refusal::invalid_value;
  }
}

/// Errors of a launch that say how it was asked for; all others end the context.
bool is_refusal(CUresult result) {
  return result == kCuInvalidValue || result == kCuOutOfMemory || result == 400 ||
         result == kCuNotFound || result == 701 || result == 720 || result == 912 || result == 801;
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(std::shared_ptr<const CudaDriver> driver,
                                                       int ordinal,
                                                       const vgpu::DeviceOptions& options) {
  FIEL_TRY(GpuInfo gpu, driver->gpu(ordinal));
  std::unique_ptr<CudaDevice> d(new CudaDevice(std::move(driver), std::move(gpu)));
  FIEL_TRY_STATUS(d->open(options));
  return d;
}

Status CudaDevice::open(const vgpu::DeviceOptions& options) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  FIEL_TRY_STATUS(check(cu_->device_get(&device, gpu_.ordinal), "cuDeviceGet"));
  FIEL_TRY_STATUS(check(cu_->primary_retain(&context, device), "making a CUDA context"));
  FIEL_TRY_STATUS(check(cu_->context_set(context), "cuCtxSetCurrent"));
  (void)cu_->context_set_limit(kCuLimitPrintfBytes, kPrintfBytes);
  // No line of the cache is set aside for one side of a comparison.
  (void)cu_->context_set_limit(kCuLimitPersistingL2, 0);
  FIEL_TRY_STATUS(check(cu_->stream_create(&clock_, kCuStreamNonBlocking), "cuStreamCreate"));
  void* gate = nullptr;
  FIEL_TRY_STATUS(check(cu_->host_allocate(&gate, 64, kCuHostPortable | kCuHostDeviceMap),
                        "pinned memory for the gate"));
  gate_ = static_cast<volatile uint32_t*>(gate);
  FIEL_TRY_STATUS(check(cu_->host_pointer(&gate_address_, gate, 0), "cuMemHostGetDevicePointer"));
  size_t free_bytes = 0, total = 0;
  FIEL_TRY_STATUS(check(cu_->memory_info(&free_bytes, &total), "cuMemGetInfo"));
  options_ = options;
  options_.memory_bytes = free_bytes;
  options_.multiprocessors = gpu_.multiprocessors;
  current_ = clock_;
  return {};
}

Status CudaDevice::capture_standard_output() {
  printed_fd_ = ::memfd_create("fiel-printf", MFD_CLOEXEC);
  if (printed_fd_ < 0 || ::dup2(printed_fd_, STDOUT_FILENO) < 0)
    return fail(ErrorCode::io, "no file for what kernels print");
  return {};
}

Status CudaDevice::try_out() {
  constexpr const char* kPtx =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry fiel_try_out(.param .u64 to)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
      "ld.param.u64 %rd1, [to];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, 42;\n"
      "st.global.u32 [%rd2], %r1;\nret;\n}\n";
  FIEL_TRY(uint32_t module, load_module(kPtx, "a kernel to try the driver with"));
  FIEL_TRY(uint64_t word, allocate(4, "a word to try the driver with"));
  vgpu::LaunchRequest q;
  q.module = module;
  q.kernel = "fiel_try_out";
  q.grid = q.block = {1, 1, 1};
  q.parameters.resize(8);
  std::memcpy(q.parameters.data(), &word, 8);
  vgpu::LaunchReport report = launch(q);
  if (report.status != vgpu::LaunchStatus::completed)
    return fail(ErrorCode::environment, "a first launch failed: " + report.message);
  uint32_t value = 0;
  FIEL_TRY_STATUS(read(word, std::as_writable_bytes(std::span(&value, 1))));
  running_.clear();
  FIEL_TRY_STATUS(free(word));
  FIEL_TRY_STATUS(unload_module(module));
  if (value != 42) return fail(ErrorCode::environment, "a first kernel wrote nothing");
  return {};
}

Status CudaDevice::check(CUresult result, const char* doing) const {
  if (result == kCuSuccess) return {};
  return fail(cu_->error(result, doing));
}

Status CudaDevice::usable() const {
  if (lost_ == kCuSuccess) return {};
  return fail(cu_->error(lost_, "the GPU's context has ended"));
}

std::string CudaDevice::isa_name() const { return "sm_" + gpu_.architecture(); }

Result<uint32_t> CudaDevice::load_image(const void* image, std::string_view name) {
  FIEL_TRY_STATUS(usable());
  Module m;
  m.name = name;
  if (CUresult r = cu_->module_load(&m.handle, image); r != kCuSuccess) {
    Error e = cu_->error(r, fmt::format("loading {}", name));
    e.code = ErrorCode::unsupported;
    return fail(std::move(e));
  }
  modules_.push_back(std::move(m));
  return static_cast<uint32_t>(modules_.size() - 1);
}

Result<uint32_t> CudaDevice::load_module(std::string_view ptx, std::string_view name) {
  return load_image(std::string(ptx).c_str(), name);
}

Result<uint32_t> CudaDevice::load_fat_binary(std::span<const uint8_t> bytes,
                                             std::string_view name) {
  // The driver trusts the sizes inside: an honest header, and room behind for a lying one to end
  // in.
  constexpr uint32_t kMagic = 0xBA55ED50;
  constexpr size_t kSlack = 4096;
  uint32_t magic = 0;
  uint64_t claimed = 0;
  if (bytes.size() >= 16) {
    std::memcpy(&magic, bytes.data(), 4);
    std::memcpy(&claimed, bytes.data() + 8, 8);
  }
  if (magic != kMagic)
    return load_module({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
  if (claimed > bytes.size() - 16)
    return fail(ErrorCode::parse, "malformed fat binary: longer than what was sent");
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  copy.resize(copy.size() + kSlack);
  return load_image(copy.data(), name);
}

Status CudaDevice::unload_module(uint32_t module) {
  FIEL_TRY_STATUS(usable());
  if (module >= modules_.size() || !modules_[module].handle)
    return fail(ErrorCode::usage, "no such module");
  FIEL_TRY_STATUS(settle());
  (void)cu_->module_unload(modules_[module].handle);
  modules_[module].handle = nullptr;
  std::erase_if(functions_, [&](const auto& f) { return f.first.first == module; });
  return {};
}

Result<CudaDevice::Function*> CudaDevice::function(uint32_t module, std::string_view name) const {
  FIEL_TRY_STATUS(usable());
  auto key = std::make_pair(module, std::string(name));
  if (auto it = functions_.find(key); it != functions_.end()) return &it->second;
  if (module >= modules_.size() || !modules_[module].handle)
    return fail(ErrorCode::not_found, "no such module");
  Function f;
  CUresult r = cu_->module_function(&f.handle, modules_[module].handle, key.second.c_str());
  if (r != kCuSuccess) {
    Error e = cu_->error(r, fmt::format("kernel {:.200}", name));
    e.code = ErrorCode::not_found;
    return fail(std::move(e));
  }
  constexpr int kDefault = 48 << 10;
  int shared = 0;
  (void)cu_->function_attribute(&shared, kCuSharedBytes, f.handle);
  f.max_dynamic_shared = std::max(0, kDefault - shared);
  return &functions_.emplace(std::move(key), f).first->second;
}

Result<vgpu::KernelInfo> CudaDevice::kernel(uint32_t module, std::string_view name) const {
  FIEL_TRY(Function * f, function(module, name));
  if (!cu_->function_parameter)
    return fail(ErrorCode::environment, "the driver has no cuFuncGetParamInfo",
                "update it: CUDA 12.4 brought it");
  vgpu::KernelInfo k;
  k.name = name;
  for (size_t i = 0; i < kMaxParameters; ++i) {
    size_t offset = 0, bytes = 0;
    if (cu_->function_parameter(f->handle, i, &offset, &bytes) != kCuSuccess) break;
    k.parameter_offsets.push_back(static_cast<uint32_t>(offset));
    k.parameter_bytes.push_back(static_cast<uint32_t>(bytes));
    k.parameter_is_pointer.push_back(bytes == 8);
    k.parameter_block_bytes = static_cast<uint32_t>(offset + bytes);
  }
  auto ask = [&](CuFunctionAttribute a) {
    int v = 0;
    return cu_->function_attribute(&v, a, f->handle) == kCuSuccess ? static_cast<uint32_t>(v) : 0u;
  };
  k.static_shared_bytes = ask(kCuSharedBytes);
  k.local_bytes = ask(kCuLocalBytes);
  k.max_threads = ask(kCuMaxThreads);
  return k;
}

std::vector<std::string> CudaDevice::kernels(uint32_t module) const {
  std::vector<std::string> names;
  if (lost_ != kCuSuccess || module >= modules_.size() || !modules_[module].handle) return names;
  if (!cu_->module_function_count || !cu_->module_functions || !cu_->function_name) return names;
  unsigned n = 0;
  if (cu_->module_function_count(&n, modules_[module].handle) != kCuSuccess) return names;
  std::vector<CUfunction> all(std::min(n, kMaxListedKernels));
  if (cu_->module_functions(all.data(), static_cast<unsigned>(all.size()),
                            modules_[module].handle) != kCuSuccess)
    return names;
  for (CUfunction f : all) {
    const char* name = nullptr;
    if (cu_->function_name(&name, f) == kCuSuccess && name) names.emplace_back(name);
  }
  return names;
}

Result<vgpu::SymbolInfo> CudaDevice::symbol(uint32_t module, std::string_view name) const {
  FIEL_TRY_STATUS(usable());
  if (module >= modules_.size() || !modules_[module].handle)
    return fail(ErrorCode::not_found, "no such module");
  CUdeviceptr at = 0;
  size_t bytes = 0;
  if (cu_->module_global(&at, &bytes, modules_[module].handle, std::string(name).c_str()) !=
      kCuSuccess)
    return fail(ErrorCode::not_found, fmt::format("no variable {:.200}", name));
  blocks_.try_emplace(at, Block{bytes, BlockKind::symbol, at, bytes});
  return vgpu::SymbolInfo{at, bytes, false};
}

vgpu::LaunchReport CudaDevice::launch(const vgpu::LaunchRequest& q) {
  auto found = function(q.module, q.kernel);
  if (!found) return refused(vgpu::Refusal::missing_symbol, to_string(found.error()));
  Function& f = **found;
  if (static_cast<int>(q.dynamic_shared_bytes) > f.max_dynamic_shared) {
    auto bytes = static_cast<int>(q.dynamic_shared_bytes);
    CUresult r = cu_->function_set_attribute(f.handle, kCuMaxDynamicShared, bytes);
    if (r != kCuSuccess) return refused(vgpu::Refusal::invalid_value, cu_->name_of(r));
    f.max_dynamic_shared = bytes;
  }
  // Loading code or growing stacks waits for the GPU, which may wait for the gate.
  if (!std::exchange(f.launched, true)) open_gate();
  CuLaunchAttribute cooperative{};
  cooperative.id = kCuLaunchCooperative;
  cooperative.value.cooperative = 1;
  CuLaunchConfig c{q.grid.x,
                   q.grid.y,
                   q.grid.z,
                   q.block.x,
                   q.block.y,
                   q.block.z,
                   q.dynamic_shared_bytes,
                   current_,
                   &cooperative,
                   q.cooperative ? 1u : 0u};
  size_t bytes = q.parameters.size();
  void* extra[] = {kCuParamBufferPointer, const_cast<uint8_t*>(q.parameters.data()),
                   kCuParamBufferSize, &bytes, kCuParamEnd};
  CUresult r = launch_timed(c, f.handle, bytes == 0 ? nullptr : extra);
  if (r != kCuSuccess && is_refusal(r)) return refused(refusal_of(r), cu_->name_of(r));
  if (running_.size() < 8) running_.push_back(q.kernel);
  vgpu::LaunchReport report;
  if (r != kCuSuccess) {
    lost_ = r;
    report.status = vgpu::LaunchStatus::faulted;
    report.message = to_string(cu_->error(r, "launch"));
    return report;
  }
  count_queued();
  return report;
}

Result<uint32_t> CudaDevice::occupancy(uint32_t module, std::string_view kernel,
                                       uint32_t block_threads, uint32_t dynamic_shared_bytes,
                                       uint32_t) const {
  FIEL_TRY(Function * f, function(module, kernel));
  if (static_cast<int>(dynamic_shared_bytes) > f->max_dynamic_shared) {
    auto bytes = static_cast<int>(dynamic_shared_bytes);
    FIEL_TRY_STATUS(check(cu_->function_set_attribute(f->handle, kCuMaxDynamicShared, bytes),
                          "dynamic shared memory"));
    f->max_dynamic_shared = bytes;
  }
  int blocks = 0;
  FIEL_TRY_STATUS(check(
      cu_->occupancy(&blocks, f->handle, static_cast<int>(block_threads), dynamic_shared_bytes),
      "occupancy"));
  return static_cast<uint32_t>(std::max(blocks, 0));
}

}  // namespace fiel::device
