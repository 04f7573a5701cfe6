// Launches: what is refused before anything runs, the state that workers share, the report.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "vgpu/counters.h"
#include "vgpu/device_impl.h"
#include "vgpu/isa/observe.h"
#include "vgpu/launch.h"
#include "vgpu/observer.h"
#include "vgpu/occupancy.h"
#include "vgpu/transactions_report.h"

namespace fiel::vgpu {
namespace {

/// Blocks a worker may have begun and not ended: bounds memory when blocks spin for each other.
constexpr uint64_t kMaxResident = 4096;

void refuse(LaunchReport& report, Refusal refusal, std::string message) {
  report.status = LaunchStatus::invalid;
  report.refusal = refusal;
  report.message = std::move(message);
}

}  // namespace

bool VirtualDevice::validate(const LaunchRequest& request, const Found& found,
                             LaunchReport& report) const {
  const FunctionCode& code = found.module->program->functions[found.index];
  const Dim3 &grid = request.grid, &block = request.block;
  const uint64_t threads = block.count();
  if (request.parameters.size() != code.param_block_bytes) {
    refuse(report, Refusal::invalid_value,
           fmt::format("kernel {} takes a parameter block of {} bytes, {} were given",
                       request.kernel, code.param_block_bytes, request.parameters.size()));
    return false;
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0 ||
      grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    refuse(report, Refusal::invalid_configuration,
           fmt::format("grid ({},{},{}) of blocks ({},{},{}): every extent must be at least 1, the "
                       "grid's at most (2147483647,65535,65535)",
                       grid.x, grid.y, grid.z, block.x, block.y, block.z));
    return false;
  }
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > kMaxThreadsPerBlock) {
    refuse(report, Refusal::invalid_configuration,
           fmt::format("block ({},{},{}) has {} threads; at most 1024, and (1024,1024,64)", block.x,
                       block.y, block.z, threads));
    return false;
  }
  auto info = kernel(request.module, request.kernel);
  if (info && info->required_block.x != 0 && !(info->required_block == block)) {
    refuse(report, Refusal::invalid_configuration,
           fmt::format("kernel {} requires blocks of ({},{},{})", request.kernel,
                       info->required_block.x, info->required_block.y, info->required_block.z));
    return false;
  }
  if (info && threads > info->max_threads) {
    refuse(report, Refusal::invalid_value,
           fmt::format("kernel {} was compiled for at most {} threads a block, {} were asked for",
                       request.kernel, info->max_threads, threads));
    return false;
  }
  const uint64_t shared = uint64_t{code.static_shared_bytes} + request.dynamic_shared_bytes;
  if (shared > kSharedPerBlock) {
    refuse(report, Refusal::invalid_value,
           fmt::format("{} bytes of shared memory ({} static + {} dynamic); sm_90 has {} a block",
                       shared, code.static_shared_bytes, request.dynamic_shared_bytes,
                       kSharedPerBlock));
    return false;
  }
  if (request.cooperative) {
    const uint64_t fit =
        uint64_t{options_.multiprocessors} *
        blocks_per_multiprocessor(static_cast<uint32_t>(threads), static_cast<uint32_t>(shared), 0);
    if (grid.count() > fit) {
      refuse(report, Refusal::cooperative_too_large,
             fmt::format("a cooperative grid of {} blocks; {} can be resident at once",
                         grid.count(), fit));
      return false;
    }
  }
  return true;
}

void VirtualDevice::prepare(LaunchState& launch, const LaunchRequest& request, const Found& found) {
  const FunctionCode& code = launch.program->functions[found.index];
  launch.module = found.module->source.get();
  launch.core = &core_;
  launch.request = &request;
  launch.options = &options_;
  launch.arena = &arena_;
  launch.heap = &heap_;
  launch.function = found.index;
  launch.parameters = parameters_;
  launch.workspace = workspace_;
  launch.static_shared_bytes = code.static_shared_bytes;
  launch.shared_bytes = code.static_shared_bytes + request.dynamic_shared_bytes;
  if (request.dynamic_shared_bytes != 0)  // dynamic variables start at their alignment
    launch.shared_bytes = ((code.static_shared_bytes + 15u) & ~15u) + request.dynamic_shared_bytes;
  launch.threads = static_cast<uint32_t>(request.block.count());
  launch.warps = (launch.threads + kLanes - 1) / kLanes;
  launch.blocks = request.grid.count();
  const bool bounded = !code.recursive && !code.indirect_calls;
  launch.local_stride =
      bounded ? std::min(code.reachable_stack_bytes, options_.stack_bytes) : options_.stack_bytes;
  launch.local_stride = (launch.local_stride + 15u) & ~15u;
  launch.interleave = request.cooperative;
  launch.order = block_order(request.schedule, launch.blocks);
  launch.resident_limit = request.cooperative ? launch.blocks : kMaxResident;
  // One worker wherever another count could give another outcome.
  const bool alone = code.order_sensitive || request.cooperative || request.checks.global_races ||
                     request.schedule.seed != 0 || request.schedule.quantum != 0;
  const uint64_t workers = alone ? 1 : std::min<uint64_t>(options_.threads, launch.blocks);
  const Checks& checks = request.checks;
  const uint32_t watch = (checks.metrics ? kWatchMetrics : 0) |
                         (checks.shared_races ? kWatchSharedRaces : 0) |
                         (checks.global_races ? kWatchGlobalRaces : 0);
  if (checks.global_races) launch.global_races = std::make_unique<GlobalRaces>();
  for (uint64_t i = 0; i < workers; ++i) {
    auto executor = std::make_unique<Executor>();
    executor->launch = &launch;
    executor->ops = launch.program->ops.data();
    executor->meta = launch.program->meta.data();
    executor->extra = launch.program->extra.data();
    executor->blocks = launch.program->blocks.data();
    executor->arena = &arena_;
    executor->arena_base = arena_.base();
    executor->arena_shadow = arena_.shadow_of(arena_.base());
    executor->check_initialized = request.checks.initialization;
    executor->concurrent = workers > 1;
    executor->quantum = request.schedule.quantum;
    executor->local_stride = launch.local_stride;
    executor->counts.resize(launch.program->blocks.size());
    executor->guarded_off.resize(launch.program->ops.size());
    executor->divergent.resize(launch.program->ops.size());
    if (watch != 0) {
      launch.observers.push_back(std::make_unique<Observer>(*launch.program, watch, arena_.base(),
                                                            arena_.end() - arena_.base(),
                                                            launch.global_races.get()));
      executor->observer = launch.observers.back().get();
      executor->watch = watch;
    }
    launch.executors.push_back(std::move(executor));
  }
}

Finding VirtualDevice::finding_of(const LaunchState& launch, const Occurrence& occurrence) const {
  const Dim3 &grid = launch.request->grid, &block = launch.request->block;
  const auto block_of = [&](uint64_t linear) {
    return Dim3{static_cast<uint32_t>(linear % grid.x),
                static_cast<uint32_t>(linear / grid.x % grid.y),
                static_cast<uint32_t>(linear / grid.x / grid.y)};
  };
  const auto thread_of = [&](uint32_t linear) {
    return Dim3{linear % block.x, linear / block.x % block.y, linear / block.x / block.y};
  };
  const auto instruction_of = [&](uint32_t op) -> const ptx::Instruction* {
    if (op >= launch.program->ops.size()) return nullptr;
    const OpMeta& meta = launch.program->meta[op];
    const ptx::Function& function = launch.module->functions[meta.function];
    return meta.statement < function.body.size() ? &function.body[meta.statement] : nullptr;
  };
  Finding finding;
  finding.kind = occurrence.kind;
  finding.grade = occurrence.grade;
  finding.count = occurrence.count;
  finding.kernel = demangled(launch.request->kernel);
  if (const ptx::Instruction* instruction = instruction_of(occurrence.op)) {
    finding.instruction = instruction->text;
    finding.ptx_line = instruction->ptx_line;
    finding.source = source_frames(*launch.module, instruction->source);
  }
  finding.block = block_of(occurrence.block);
  finding.thread = thread_of(occurrence.thread);
  finding.has_address = occurrence.has_address;
  finding.address = occurrence.address;
  finding.bytes = occurrence.bytes;
  finding.detail = occurrence.detail;
  if (const ptx::Instruction* other = instruction_of(occurrence.other_op)) {
    finding.other_instruction = other->text;
    finding.other_source = source_frames(*launch.module, other->source);
    finding.other_block = block_of(occurrence.other_block);
    finding.other_thread = thread_of(occurrence.other_thread);
  }
  return finding;
}

LaunchReport VirtualDevice::launch(const LaunchRequest& request) {
  LaunchReport report;
  const auto found = find_kernel(request.module, request.kernel);
  if (!found) {
    refuse(report, Refusal::missing_symbol, found.error().what);
    return report;
  }
  if (!validate(request, *found, report)) return report;
  LaunchState launch;
  launch.program = found->module->program.get();
  if (request.contract == Contract::on) {
    auto contracted = contracted_program(*found->module);
    if (!contracted) {
      refuse(report, Refusal::invalid_value, contracted.error().what);
      return report;
    }
    launch.program = *contracted;
  }
  if (!request.parameters.empty())
    memcpy(reinterpret_cast<void*>(parameters_), request.parameters.data(),
           request.parameters.size());
  arena_.set_state(parameters_, request.parameters.size(), 1);
  Allocation& block = *arena_.find(parameters_);
  block.read_only = true;
  block.filled = true;
  memset(reinterpret_cast<void*>(workspace_), 0, 64);
  prepare(launch, request, *found);
  run_grid(launch);
  report.status = launch.status;
  report.message = launch.message;
  for (const Occurrence& occurrence :
       launch.sink.finish(launch.stop_position.load(), report.findings_dropped))
    report.findings.push_back(finding_of(launch, occurrence));
  if (report.status == LaunchStatus::faulted && report.message.empty() &&
      !report.findings.empty()) {
    const auto first_error = std::find_if(report.findings.begin(), report.findings.end(),
                                          [](const Finding& f) { return f.grade == Grade::error; });
    if (first_error != report.findings.end())
      report.message = fmt::format("{}: {}", code_of(first_error->kind), first_error->detail);
  }
  KernelMetrics metrics = count_instructions(launch);
  report.thread_instructions = metrics.total.thread_instructions;
  if (request.checks.metrics) {
    add_transactions(launch, metrics);
    report.metrics = std::move(metrics);
  }
  return report;
}

Result<const Program*> VirtualDevice::contracted_program(const LoadedModule& module) {
  LoadedModule& loaded = const_cast<LoadedModule&>(module);
  if (loaded.contracted == nullptr) {
    FIEL_TRY(Program program, lower({.module = *loaded.source,
                                     .addresses = loaded.addresses,
                                     .core = core_,
                                     .selectors = selectors_,
                                     .contract = Contract::on}));
    loaded.contracted = std::make_unique<Program>(std::move(program));
  }
  return loaded.contracted.get();
}

}  // namespace fiel::vgpu
