#include "vgpu/device.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "vgpu/counters.h"
#include "vgpu/cpu_features.h"
#include "vgpu/device_impl.h"
#include "vgpu/isa/core_select.h"
#include "vgpu/launch.h"
#include "vgpu/lower.h"
#include "vgpu/occupancy.h"

namespace fiel::vgpu {
namespace {

// A family whose file is not part of the build leaves its reference null.
#define FIEL_X(name)                                                                              \
  namespace avx2 {                                                                                \
  [[gnu::weak]] Selection name(const ptx::Instruction& instruction, const OperandWidths& widths); \
  }                                                                                               \
  namespace avx512 {                                                                              \
  [[gnu::weak]] Selection name(const ptx::Instruction& instruction, const OperandWidths& widths); \
  }
}  // namespace
FIEL_ISA_SELECTORS(FIEL_X)
#undef FIEL_X

namespace {

constexpr uint64_t kParameterBytes = 32764;  // CUDA 12.1 on sm_70 and later
constexpr uint64_t kWorkspaceBytes = 4096;

std::vector<Selector> selectors_of(bool wide) {
  std::vector<Selector> out;
#define FIEL_X(name) out.push_back(wide ? &avx512::name : &avx2::name);
  FIEL_ISA_SELECTORS(FIEL_X)
#undef FIEL_X
  return out;
}

tl::unexpected<Error> no_module(uint32_t module) {
  return fail(ErrorCode::not_found, fmt::format("no module {} is loaded", module));
}

}  // namespace

Result<std::unique_ptr<Device>> Device::create(const DeviceOptions& options) {
  if (!cpu_runs_avx2())
    return fail(ErrorCode::environment, kNoAvx2,
                "run on another machine, or judge on a GPU (--device cuda:0)");
  if (options.isa == IsaChoice::avx512 && !cpu_runs_avx512())
    return fail(ErrorCode::environment, kNoAvx512, "use the automatic choice");
  const bool wide = options.isa == IsaChoice::avx512 ||
                    (options.isa == IsaChoice::automatic && cpu_runs_avx512());
  auto device = std::make_unique<VirtualDevice>(
      options, wide ? avx512::core_handlers() : avx2::core_handlers(), selectors_of(wide),
      wide ? "avx512" : "avx2");
  FIEL_TRY_STATUS(device->start());
  return std::unique_ptr<Device>(std::move(device));
}

VirtualDevice::VirtualDevice(const DeviceOptions& options, const CoreHandlers& core,
                             std::vector<Selector> selectors, std::string isa_name)
    : options_(options),
      core_(core),
      selectors_(std::move(selectors)),
      isa_name_(std::move(isa_name)) {
  if (options_.threads == 0) options_.threads = std::max(1u, std::thread::hardware_concurrency());
  options_.threads = std::min(options_.threads, 256u);
  options_.stack_bytes = std::clamp(options_.stack_bytes, 1024u, 16u << 20) & ~15u;
}

Status VirtualDevice::start() {
  FIEL_TRY_STATUS(arena_.reserve(2 * options_.memory_bytes + options_.heap_bytes + (1ull << 30)));
  const uint64_t window_end = kLocalWindow + kWindowBytes;
  if (arena_.base() < window_end && arena_.end() > kSharedWindow)
    return fail(ErrorCode::environment, "device memory landed in the shared or local window");
  FIEL_TRY(parameters_, arena_.allocate(kParameterBytes, "kernel parameters"));
  FIEL_TRY(workspace_, arena_.allocate(kWorkspaceBytes, "grid workspace"));
  arena_.set_state(workspace_, kWorkspaceBytes, 1);
  FIEL_TRY(const uint64_t heap, arena_.allocate(options_.heap_bytes, "device heap"));
  arena_.find(heap)->heap = true;
  heap_.assign(heap, options_.heap_bytes);
  own_bytes_ = arena_.in_use();
  arena_.reset_peak();
  return {};
}

Status VirtualDevice::place_variables(LoadedModule& loaded) {
  const ptx::Module& module = *loaded.source;
  loaded.addresses.assign(module.variables.size(), 0);
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& variable = module.variables[i];
    if (variable.space == ptx::Space::shared) continue;
    if (variable.is_extern)
      return fail(ErrorCode::unsupported,
                  fmt::format("variable {} is declared but not defined here", variable.name),
                  "link the module that defines it");
    FIEL_TRY(const uint64_t at, arena_.allocate(variable.bytes, variable.name));
    loaded.addresses[i] = at;
    loaded.owned.push_back(at);
    memset(reinterpret_cast<void*>(at), 0, variable.bytes);
    if (!variable.initial.empty())
      memcpy(reinterpret_cast<void*>(at), variable.initial.data(),
             std::min<uint64_t>(variable.initial.size(), variable.bytes));
    arena_.set_state(at, variable.bytes, 1);
    Allocation& allocation = *arena_.find(at);
    allocation.filled = true;
    allocation.read_only = variable.space == ptx::Space::constant;
  }
  for (size_t i = 0; i < module.variables.size(); ++i)
    for (const ptx::Relocation& relocation : module.variables[i].relocations)
      FIEL_TRY_STATUS(relocate(loaded, i, relocation));
  return {};
}

Status VirtualDevice::relocate(LoadedModule& loaded, size_t variable,
                               const ptx::Relocation& relocation) {
  const ptx::Module& module = *loaded.source;
  const ptx::Variable& at = module.variables[variable];
  const ptx::Symbol& symbol = module.symbols[relocation.symbol];
  uint64_t value = 0;
  if (symbol.kind == ptx::Symbol::Kind::function)
    value = Program::kCodeBase + 16ull * symbol.function;
  else if (symbol.kind == ptx::Symbol::Kind::global_variable &&
           module.variables[symbol.index].space != ptx::Space::shared)
    value = loaded.addresses[symbol.index];
  else
    return fail(ErrorCode::unsupported,
                fmt::format("initialiser of {} holds the address of {}", at.name, symbol.name));
  value += static_cast<uint64_t>(relocation.addend);
  if (relocation.mask != ~uint64_t{0} && relocation.mask != 0)
    value = (value & relocation.mask) >> __builtin_ctzll(relocation.mask);
  if (relocation.bytes > 8 || relocation.at + relocation.bytes > at.bytes)
    return fail(ErrorCode::parse, fmt::format("initialiser of {} is too long", at.name));
  memcpy(reinterpret_cast<uint8_t*>(loaded.addresses[variable]) + relocation.at, &value,
         relocation.bytes);
  return {};
}

Result<uint32_t> VirtualDevice::load_module(std::string_view text, std::string_view name) {
  auto parsed = ptx::parse(text);
  if (!parsed) return fail(std::move(parsed).error().with_context(std::string(name)));
  LoadedModule loaded;
  loaded.name = name;
  loaded.source = std::make_unique<ptx::Module>(std::move(*parsed));
  Status placed = place_variables(loaded);
  if (placed) {
    auto program = lower({.module = *loaded.source,
                          .addresses = loaded.addresses,
                          .core = core_,
                          .selectors = selectors_,
                          .contract = Contract::off});
    if (program)
      loaded.program = std::make_unique<Program>(std::move(*program));
    else
      placed = fail(std::move(program).error());
  }
  if (!placed) {
    for (const uint64_t at : loaded.owned) static_cast<void>(arena_.release(at));
    return fail(std::move(placed).error().with_context(std::string(name)));
  }
  for (const uint64_t at : loaded.owned) {
    const Allocation& allocation = *arena_.find(at);
    own_bytes_ += allocation.end - allocation.begin;
  }
  const uint32_t id = next_module_++;
  modules_.emplace(id, std::move(loaded));
  return id;
}

Status VirtualDevice::unload_module(uint32_t module) {
  const auto it = modules_.find(module);
  if (it == modules_.end()) return no_module(module);
  for (const uint64_t at : it->second.owned) {
    const Allocation& allocation = *arena_.find(at);
    own_bytes_ -= allocation.end - allocation.begin;
    FIEL_TRY_STATUS(arena_.release(at));
  }
  modules_.erase(it);
  return {};
}

std::vector<std::string> VirtualDevice::kernels(uint32_t module) const {
  std::vector<std::string> out;
  const auto it = modules_.find(module);
  if (it == modules_.end()) return out;
  for (const ptx::Function& function : it->second.source->functions)
    if (function.is_entry) out.push_back(function.name);
  return out;
}

Result<VirtualDevice::Found> VirtualDevice::find_kernel(uint32_t module,
                                                        std::string_view name) const {
  const auto it = modules_.find(module);
  if (it == modules_.end()) return no_module(module);
  const std::vector<ptx::Function>& functions = it->second.source->functions;
  for (uint32_t i = 0; i < functions.size(); ++i)
    if (functions[i].is_entry && functions[i].name == name)
      return Found{&it->second, &functions[i], i};
  return fail(ErrorCode::not_found,
              fmt::format("module {} has no kernel '{}'", it->second.name, name));
}

Result<KernelInfo> VirtualDevice::kernel(uint32_t module, std::string_view name) const {
  FIEL_TRY(const Found found, find_kernel(module, name));
  const FunctionCode& code = found.module->program->functions[found.index];
  KernelInfo info;
  info.name = name;
  info.parameter_offsets = code.param_offsets;
  info.parameter_bytes = code.param_bytes;
  for (const ptx::Variable& param : found.function->params)
    info.parameter_is_pointer.push_back(
        param.is_pointer ||
        (param.bytes == 8 && (param.type == ptx::Type::u64 || param.type == ptx::Type::b64)));
  info.parameter_block_bytes = code.param_block_bytes;
  info.static_shared_bytes = code.static_shared_bytes;
  info.local_bytes = code.local_bytes;
  const uint32_t* most = found.function->max_ntid;
  if (most[0] != 0) {
    const uint64_t threads = uint64_t{most[0]} * std::max(1u, most[1]) * std::max(1u, most[2]);
    info.max_threads = static_cast<uint32_t>(std::min<uint64_t>(threads, kMaxThreadsPerBlock));
  }
  const uint32_t* exact = found.function->req_ntid;
  if (exact[0] != 0)
    info.required_block = {exact[0], std::max(1u, exact[1]), std::max(1u, exact[2])};
  return info;
}

Result<SymbolInfo> VirtualDevice::symbol(uint32_t module, std::string_view name) const {
  const auto it = modules_.find(module);
  if (it == modules_.end()) return no_module(module);
  const std::vector<ptx::Variable>& variables = it->second.source->variables;
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].name == name && variables[i].space != ptx::Space::shared)
      return SymbolInfo{it->second.addresses[i], variables[i].bytes,
                        variables[i].space == ptx::Space::constant};
  return fail(ErrorCode::not_found,
              fmt::format("module {} has no variable '{}'", it->second.name, name));
}

Result<uint32_t> VirtualDevice::occupancy(uint32_t module, std::string_view kernel,
                                          uint32_t block_threads, uint32_t dynamic_shared_bytes,
                                          uint32_t registers) const {
  FIEL_TRY(const Found found, find_kernel(module, kernel));
  const uint64_t shared =
      uint64_t{found.module->program->functions[found.index].static_shared_bytes} +
      dynamic_shared_bytes;
  if (shared > kSharedPerBlock) return 0u;
  return blocks_per_multiprocessor(block_threads, static_cast<uint32_t>(shared), registers);
}

}  // namespace fiel::vgpu
