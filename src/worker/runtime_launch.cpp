// The stand-in runtime's modules, kernels and launches.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "build/fatbin.h"
#include "worker/runtime_server.h"

namespace fiel::worker {
namespace {

constexpr size_t kMaxModules = 256, kMaxKernels = 16384, kMaxName = 64u << 10;
constexpr uint32_t kArch = 90;
constexpr uint32_t kDefaultShared = 48u << 10, kMaxShared = 227u << 10;
constexpr size_t kMaxLaunchRecords = 4096;
/// Per-line metrics of a call are kept up to this many lines; totals always.
constexpr size_t kMaxMetricLines = 20'000;

int32_t sticky_error_of(const vgpu::LaunchReport& r) {
  if (r.status != vgpu::LaunchStatus::faulted) return kCudaErrorLaunchTimeout;
  for (const vgpu::Finding& f : r.findings) {
    if (f.grade != vgpu::Grade::error) continue;
    switch (f.kind) {
      case vgpu::FindingKind::out_of_bounds:
      case vgpu::FindingKind::use_after_free:
        return kCudaErrorIllegalAddress;
      case vgpu::FindingKind::misaligned:
        return kCudaErrorMisalignedAddress;
      case vgpu::FindingKind::assertion:
        return kCudaErrorAssert;
      default:
        break;
    }
  }
  return kCudaErrorLaunchFailure;
}

int32_t refusal_error(vgpu::Refusal r) {
  switch (r) {
    case vgpu::Refusal::invalid_configuration:
      return kCudaErrorInvalidConfiguration;
    case vgpu::Refusal::too_many_resources:
      return kCudaErrorLaunchOutOfResources;
    case vgpu::Refusal::cooperative_too_large:
      return kCudaErrorCooperativeLaunchTooLarge;
    case vgpu::Refusal::missing_symbol:
      return kCudaErrorInvalidDeviceFunction;
    default:
      return kCudaErrorInvalidValue;
  }
}

}  // namespace

int32_t RuntimeServer::on_register_module(WireReader& in, WireWriter& out) {
  auto blob = in.blob(kMaxRuntimeMessage);
  if (in.failed()) return -1;
  if (modules_.size() >= kMaxModules) return kCudaErrorMemoryAllocation;
  Module module;
  auto load = [&]() -> Status {
    if (queue_) {
      FIEL_TRY(module.device_module,
               queue_->load_fat_binary(blob, fmt::format("module {}", modules_.size())));
      return {};
    }
    FIEL_TRY(auto entries, build::read_fatbin(blob));
    FIEL_TRY(build::FatbinPtx ptx, build::select_ptx(std::move(entries), kArch));
    FIEL_TRY(module.device_module,
             device_.load_module(ptx.text, fmt::format("module {}", modules_.size())));
    return {};
  };
  Status loaded = load();
  module.loaded = static_cast<bool>(loaded);
  // As CUDA does, the registration succeeds and the first use of the module fails.
  if (!loaded) module.error = to_string(loaded.error()).substr(0, 2000);
  out.put(static_cast<uint32_t>(modules_.size()));
  modules_.push_back(std::move(module));
  return kCudaSuccess;
}

int32_t RuntimeServer::on_unregister_module(WireReader& in) {
  uint32_t id = in.get<uint32_t>();
  if (in.failed()) return -1;
  if (id >= modules_.size()) return kCudaErrorInvalidValue;
  if (modules_[id].loaded) (void)device_.unload_module(modules_[id].device_module);
  modules_[id].loaded = false;
  modules_[id].managed.clear();
  return kCudaSuccess;
}

int32_t RuntimeServer::on_kernel(WireReader& in, WireWriter& out) {
  uint32_t id = in.get<uint32_t>();
  std::string name = in.text(kMaxName);
  if (in.failed()) return -1;
  if (id >= modules_.size()) return kCudaErrorInvalidDeviceFunction;
  if (!modules_[id].loaded) return kCudaErrorInvalidPtx;
  if (kernels_.size() >= kMaxKernels) return kCudaErrorMemoryAllocation;
  auto info = device_.kernel(modules_[id].device_module, name);
  if (!info) return kCudaErrorInvalidDeviceFunction;
  Kernel kernel{id, std::move(*info), 0};
  kernel.max_dynamic_shared =
      kDefaultShared - std::min(kDefaultShared, kernel.info.static_shared_bytes);
  KernelReply r;
  r.kernel = static_cast<uint32_t>(kernels_.size());
  r.max_threads = kernel.info.max_threads;
  r.static_shared_bytes = kernel.info.static_shared_bytes;
  r.local_bytes = kernel.info.local_bytes;
  r.parameter_block_bytes = kernel.info.parameter_block_bytes;
  r.n_parameters = static_cast<uint32_t>(
      std::min(kernel.info.parameter_offsets.size(), kernel.info.parameter_bytes.size()));
  out.put(r);
  for (uint32_t i = 0; i < r.n_parameters; ++i)
    out.put(kernel.info.parameter_offsets[i]).put(kernel.info.parameter_bytes[i]);
  kernels_.push_back(std::move(kernel));
  return kCudaSuccess;
}

int32_t RuntimeServer::on_symbol(WireReader& in, WireWriter& out) {
  uint32_t id = in.get<uint32_t>();
  std::string name = in.text(kMaxName);
  if (in.failed()) return -1;
  if (id >= modules_.size() || !modules_[id].loaded) return kCudaErrorInvalidSymbol;
  auto symbol = device_.symbol(modules_[id].device_module, name);
  if (!symbol) return kCudaErrorInvalidSymbol;
  out.put(symbol->address).put(symbol->bytes);
  return kCudaSuccess;
}

int32_t RuntimeServer::on_managed_symbol(WireReader& in, WireWriter& out) {
  uint32_t id = in.get<uint32_t>();
  std::string name = in.text(kMaxName);
  uint64_t bytes = in.get<uint64_t>();
  if (in.failed()) return -1;
  if (id >= modules_.size() || !modules_[id].loaded) return kCudaErrorInvalidSymbol;
  auto symbol = device_.symbol(modules_[id].device_module, name);
  if (!symbol || symbol->bytes != bytes) return kCudaErrorInvalidSymbol;
  int32_t error = kCudaSuccess;
  HostRegion* region = new_region(bytes, PointerKind::managed, error);
  if (!region) return error;
  modules_[id].managed.push_back({symbol->address, bytes, region});
  copy_managed(modules_[id], false);
  (void)device_.mark_initialized(region->device_address, bytes);
  out.put(region->device_address).put(region->mapped_bytes());
  reply_fd_ = region->fd();
  return kCudaSuccess;
}

/// A `__managed__` variable lives in the module's own memory; its shared copy is brought over
/// before each launch of the module and back after it.
void RuntimeServer::copy_managed(Module& module, bool to_device) {
  for (const Module::Managed& m : module.managed) {
    std::span<std::byte> shared{m.region->memory(), m.bytes};
    if (to_device)
      (void)device_.write(m.symbol, shared);
    else
      (void)device_.read(m.symbol, shared);
  }
}

int32_t RuntimeServer::read_launch(WireReader& in, Work& work) const {
  work.kind = Work::Kind::launch;
  work.launch = in.get<LaunchHeader>();
  auto parameters = in.blob(kMaxParameterBytes);
  if (in.failed()) return -1;
  work.parameters.assign(parameters.begin(), parameters.end());
  return check_launch(work.launch, parameters.size());
}

int32_t RuntimeServer::check_launch(const LaunchHeader& l, size_t parameter_bytes) const {
  if (l.kernel >= kernels_.size()) return kCudaErrorInvalidDeviceFunction;
  const Kernel& k = kernels_[l.kernel];
  if (parameter_bytes != k.info.parameter_block_bytes) return kCudaErrorInvalidValue;
  if (!modules_[k.module].loaded) return kCudaErrorInvalidDeviceFunction;
  uint64_t threads = uint64_t{l.block[0]} * l.block[1] * l.block[2];
  bool shape_ok = l.block[0] <= 1024 && l.block[1] <= 1024 && l.block[2] <= 64 && threads >= 1 &&
                  l.grid[0] >= 1 && l.grid[0] <= 0x7fffffff && l.grid[1] >= 1 &&
                  l.grid[1] <= 65535 && l.grid[2] >= 1 && l.grid[2] <= 65535;
  if (!shape_ok || threads > 1024) return kCudaErrorInvalidConfiguration;
  if (threads > k.info.max_threads) return kCudaErrorInvalidValue;
  if (l.dynamic_shared_bytes > k.max_dynamic_shared) return kCudaErrorInvalidValue;
  if (l.cooperative) {
    auto fit = device_.occupancy(modules_[k.module].device_module, k.info.name,
                                 static_cast<uint32_t>(threads),
                                 static_cast<uint32_t>(l.dynamic_shared_bytes), 0);
    uint64_t blocks = uint64_t{l.grid[0]} * l.grid[1] * l.grid[2];
    if (!fit || blocks > uint64_t{*fit} * device_.options().multiprocessors)
      return kCudaErrorCooperativeLaunchTooLarge;
  }
  return kCudaSuccess;
}

int32_t RuntimeServer::on_launch(WireReader& in) {
  Work work;
  int32_t error = read_launch(in, work);
  if (error != kCudaSuccess) {
    if (error > 0 && work.launch.kernel < kernels_.size() && outcome_.message.empty())
      outcome_.message =
          fmt::format("launch of {} was refused: {}", kernels_[work.launch.kernel].info.name,
                      cuda_error_name(error));
    return error;
  }
  uint64_t stream = work.launch.stream;
  return submit(stream, std::move(work));
}

void RuntimeServer::run_launch(const Work& work) {
  const LaunchHeader& l = work.launch;
  if (l.kernel >= kernels_.size()) return;
  Kernel& kernel = kernels_[l.kernel];
  Module& module = modules_[kernel.module];
  sweep_regions();
  copy_managed(module, true);
  vgpu::LaunchRequest q;
  q.module = module.device_module;
  q.kernel = kernel.info.name;
  q.grid = {l.grid[0], l.grid[1], l.grid[2]};
  q.block = {l.block[0], l.block[1], l.block[2]};
  q.dynamic_shared_bytes = static_cast<uint32_t>(l.dynamic_shared_bytes);
  q.cooperative = l.cooperative != 0;
  q.parameters = work.parameters;
  q.checks = settings_.checks;
  q.schedule = settings_.schedule;
  q.contract = settings_.contract;
  q.instruction_budget = settings_.instruction_budget;
  q.cancelled = [this] { return monotonic_ns() > deadline_ns_; };
  q.print = [this](std::string_view text) { print(text); };
  vgpu::LaunchReport report = device_.launch(q);
  copy_managed(module, false);
  uint64_t spent = report.thread_instructions;
  settings_.instruction_budget -= std::min(settings_.instruction_budget, spent);
  if (report.status == vgpu::LaunchStatus::invalid) {
    sticky_ = refusal_error(report.refusal);
    outcome_.message = fmt::format("{}: {}", kernel.info.name, report.message);
  } else if (report.status != vgpu::LaunchStatus::completed) {
    sticky_ = sticky_error_of(report);
    timed_out_ = report.status == vgpu::LaunchStatus::cancelled;
    outcome_.message = fmt::format("{}: {}", kernel.info.name, report.message);
  }
  record(l, kernel, std::move(report));
}

void RuntimeServer::print(std::string_view text) {
  outcome_.output_bytes += text.size();
  size_t room = (1u << 20) - std::min<size_t>(1u << 20, outcome_.output.size());
  outcome_.output.append(text.substr(0, room));
}

void RuntimeServer::record(const LaunchHeader& l, const Kernel& kernel, vgpu::LaunchReport report) {
  if (outcome_.launches.size() >= kMaxLaunchRecords &&
      report.status == vgpu::LaunchStatus::completed) {
    ++outcome_.launches_dropped;
    return;
  }
  metric_lines_ += report.metrics.lines.size();
  if (metric_lines_ > kMaxMetricLines) report.metrics.lines.clear();
  outcome_.launches.push_back({kernel.info.name,
                               {l.grid[0], l.grid[1], l.grid[2]},
                               {l.block[0], l.block[1], l.block[2]},
                               static_cast<uint32_t>(l.dynamic_shared_bytes),
                               std::move(report)});
}

int32_t RuntimeServer::on_occupancy(WireReader& in, WireWriter& out) {
  uint32_t id = in.get<uint32_t>(), threads = in.get<uint32_t>();
  uint64_t dynamic = in.get<uint64_t>();
  if (in.failed()) return -1;
  if (id >= kernels_.size()) return kCudaErrorInvalidDeviceFunction;
  if (threads == 0) return kCudaErrorInvalidValue;
  const Kernel& k = kernels_[id];
  uint32_t blocks = 0;
  if (threads <= k.info.max_threads && k.info.static_shared_bytes + dynamic <= kMaxShared) {
    auto fit = device_.occupancy(modules_[k.module].device_module, k.info.name, threads,
                                 static_cast<uint32_t>(dynamic), 0);
    if (!fit) return kCudaErrorInvalidValue;
    blocks = *fit;
  }
  out.put(blocks);
  return kCudaSuccess;
}

int32_t RuntimeServer::on_set_kernel_attribute(WireReader& in) {
  uint32_t id = in.get<uint32_t>(), which = in.get<uint32_t>();
  int32_t value = in.get<int32_t>();
  if (in.failed()) return -1;
  if (id >= kernels_.size()) return kCudaErrorInvalidDeviceFunction;
  if (which == kPreferredCarveout) return value >= -1 && value <= 100 ? 0 : kCudaErrorInvalidValue;
  if (which != kMaxDynamicSharedBytes) return kCudaSuccess;  // cluster attributes: hints here
  Kernel& k = kernels_[id];
  if (value < 0 || k.info.static_shared_bytes + static_cast<uint64_t>(value) > kMaxShared)
    return kCudaErrorInvalidValue;
  k.max_dynamic_shared = static_cast<uint32_t>(value);
  return kCudaSuccess;
}

}  // namespace fiel::worker
