#include "vgpu/counters.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "vgpu/lower.h"

namespace fiel::vgpu {
namespace {

struct Totals {
  std::vector<BlockCount> blocks;
  std::vector<uint64_t> guarded_off, divergent;
};

Totals sum(const LaunchState& launch) {
  Totals totals;
  totals.blocks.resize(launch.program->blocks.size());
  totals.guarded_off.resize(launch.program->ops.size());
  totals.divergent.resize(launch.program->ops.size());
  for (const auto& executor : launch.executors) {
    for (size_t i = 0; i < totals.blocks.size(); ++i) {
      totals.blocks[i].runs += executor->counts[i].runs;
      totals.blocks[i].lanes += executor->counts[i].lanes;
    }
    for (size_t i = 0; i < totals.guarded_off.size(); ++i) {
      totals.guarded_off[i] += executor->guarded_off[i];
      totals.divergent[i] += executor->divergent[i];
    }
  }
  return totals;
}

void add(LineMetrics& line, const ptx::Instruction& instruction, const BlockCount& count,
         uint64_t off, uint64_t divergent, bool conditional) {
  line.warp_instructions += count.runs;
  line.thread_instructions += count.lanes - off;
  line.predicated_off += off;
  line.flops += flops_of(instruction) * (count.lanes - off);
  const MixClass mix = mix_of(instruction);
  line.mix[static_cast<size_t>(mix)] += count.lanes - off;
  if (conditional) line.branches += count.runs;
  line.divergent_branches += divergent;
  if (instruction.op == ptx::Opcode::bar || instruction.op == ptx::Opcode::barrier)
    line.barriers += count.runs;
}

/// The path as its author knows it: without the folder that it was compiled in, and toolkit headers
/// from their include folder on.
std::string shown_path(const std::string& path) {
  if (path.starts_with("/kernel/")) return path.substr(8);
  if (const size_t at = path.rfind("/include/"); at != std::string::npos)
    return path.substr(at + 9);
  const size_t temporary = path.find("/tmp."), source = path.find("/source/");
  if (temporary != std::string::npos && source != std::string::npos && temporary < source)
    return path.substr(source + 8);
  return path;
}

}  // namespace

std::vector<SourceFrame> source_frames(const ptx::Module& module, int32_t source) {
  std::vector<SourceFrame> frames;
  // Inlining is bounded by the text, but the text is hostile: cycles end here.
  for (int depth = 0; source >= 0 && depth < 64; ++depth) {
    if (static_cast<size_t>(source) >= module.source_lines.size()) break;
    const ptx::SourceLine& line = module.source_lines[static_cast<size_t>(source)];
    SourceFrame frame;
    if (line.file < module.files.size()) frame.file = shown_path(module.files[line.file]);
    frame.function = demangled(line.function);
    frame.line = line.line;
    frame.column = line.column;
    // Line 0 is "no line": the place that it was inlined at says more.
    if (line.line != 0 || line.inlined_at < 0) frames.push_back(std::move(frame));
    source = line.inlined_at;
  }
  return frames;
}

uint64_t line_key(const ptx::Module& module, int32_t source, int depth) {
  if (source < 0 || static_cast<size_t>(source) >= module.source_lines.size()) return 0;
  const ptx::SourceLine& line = module.source_lines[static_cast<size_t>(source)];
  if (line.line == 0 && line.inlined_at >= 0 && line.inlined_at != source && depth > 0)
    return line_key(module, line.inlined_at, depth - 1);
  return uint64_t{line.file} << 32 | line.line;
}

KernelMetrics count_instructions(const LaunchState& launch) {
  const Program& program = *launch.program;
  const ptx::Module& module = *launch.module;
  const Totals totals = sum(launch);
  KernelMetrics metrics;
  metrics.static_shared_bytes = launch.static_shared_bytes;
  metrics.local_bytes = program.functions[launch.function].local_bytes;
  std::map<uint64_t, LineMetrics> lines;
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    const Block& block = program.blocks[b];
    const BlockCount& count = totals.blocks[b];
    if (count.runs == 0) continue;
    const ptx::Function& function = module.functions[block.function];
    std::map<uint32_t, const Op*> op_of;
    for (uint32_t at = block.first; at < block.end; ++at)
      if (!program.meta[at].synthetic) op_of[program.meta[at].statement] = &program.ops[at];
    for (uint32_t s = block.first_statement; s < block.end_statement; ++s) {
      const ptx::Instruction& instruction = function.body[s];
      uint64_t off = 0, divergent = 0;
      bool conditional = false;
      if (const auto found = op_of.find(s); found != op_of.end()) {
        const auto at = static_cast<size_t>(found->second - program.ops.data());
        off = totals.guarded_off[at];
        divergent = totals.divergent[at];
        conditional = program.meta[at].conditional;
      }
      LineMetrics& line = lines[line_key(module, instruction.source)];
      if (line.ptx_line == 0 || instruction.ptx_line < line.ptx_line) {
        line.ptx_line = instruction.ptx_line;
        const std::vector<SourceFrame> frames = source_frames(module, instruction.source);
        if (!frames.empty()) {
          line.file = frames[0].file;
          line.line = frames[0].line;
        }
      }
      add(line, instruction, count, off, divergent, conditional);
      add(metrics.total, instruction, count, off, divergent, conditional);
    }
  }
  for (auto& [key, line] : lines) metrics.lines.push_back(std::move(line));
  std::sort(metrics.lines.begin(), metrics.lines.end(),
            [](const LineMetrics& a, const LineMetrics& b) { return a.ptx_line < b.ptx_line; });
  return metrics;
}

}  // namespace fiel::vgpu
