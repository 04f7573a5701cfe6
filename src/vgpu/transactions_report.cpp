#include "vgpu/transactions_report.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "vgpu/counters.h"
#include "vgpu/observer.h"

namespace fiel::vgpu {
namespace {

bool stores(const ptx::Instruction& instruction) {
  return instruction.op == ptx::Opcode::st || instruction.op == ptx::Opcode::stmatrix ||
         (instruction.op == ptx::Opcode::wmma && instruction.mods.store_d);
}

void add(LineMetrics& line, const ptx::Instruction& instruction, const TransactionCounts& m) {
  const bool atomic = instruction.op == ptx::Opcode::atom || instruction.op == ptx::Opcode::red;
  const bool to_shared = instruction.op == ptx::Opcode::cp || stores(instruction);
  (atomic                ? line.atomics
   : stores(instruction) ? line.global_stores
                         : line.global_loads) += m.global;
  (to_shared ? line.shared_stores : line.shared_loads) += m.shared;
  line.local_memory += m.local;
  line.atomic_contention = std::max(line.atomic_contention, m.contention);
}

/// One instruction's counts over all workers.
std::vector<TransactionCounts> sum(const LaunchState& launch) {
  std::vector<TransactionCounts> totals(launch.program->ops.size());
  for (const auto& executor : launch.executors) {
    if (executor->observer == nullptr) continue;
    const auto& counts = executor->observer->counts();
    for (size_t i = 0; i < counts.size(); ++i) totals[i] += counts[i];
  }
  return totals;
}

}  // namespace

void add_transactions(const LaunchState& launch, KernelMetrics& metrics) {
  const ptx::Module& module = *launch.module;
  std::map<std::pair<std::string, uint32_t>, LineMetrics*> lines;
  for (LineMetrics& line : metrics.lines) lines[{line.file, line.line}] = &line;
  const std::vector<TransactionCounts> totals = sum(launch);
  for (size_t i = 0; i < totals.size(); ++i) {
    const TransactionCounts& m = totals[i];
    if (m.global.requests + m.shared.requests + m.local.requests == 0) continue;
    const OpMeta& meta = launch.program->meta[i];
    const ptx::Instruction& instruction = module.functions[meta.function].body[meta.statement];
    add(metrics.total, instruction, m);
    const std::vector<SourceFrame> frames = source_frames(module, instruction.source);
    const auto at =
        frames.empty() ? lines.find({"", 0}) : lines.find({frames[0].file, frames[0].line});
    if (at != lines.end()) add(*at->second, instruction, m);
  }
  std::vector<const SectorMap*> read, written;
  for (const auto& executor : launch.executors) {
    if (executor->observer == nullptr) continue;
    read.push_back(&executor->observer->sectors_read());
    written.push_back(&executor->observer->sectors_written());
  }
  metrics.unique_global_bytes_read = SectorMap::union_bytes(read);
  metrics.unique_global_bytes_written = SectorMap::union_bytes(written);
}

}  // namespace fiel::vgpu
