#include "report/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/profile_traffic.h"

namespace fiel::report {

using vgpu::KernelMetrics;
using vgpu::LineMetrics;
using vgpu::MemoryCounters;
using vgpu::MixClass;
using vgpu::SharedCounters;

double ratio(uint64_t a, uint64_t b) {
  return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
}

MemoryCounters global_traffic(const LineMetrics& m) {
  MemoryCounters sum = m.global_loads;
  for (const MemoryCounters* c : {&m.global_stores, &m.atomics}) {
    sum.requests += c->requests;
    sum.sectors += c->sectors;
    sum.ideal_sectors += c->ideal_sectors;
    sum.bytes += c->bytes;
  }
  return sum;
}

SharedCounters shared_traffic(const LineMetrics& m) {
  return {m.shared_loads.requests + m.shared_stores.requests,
          m.shared_loads.wavefronts + m.shared_stores.wavefronts,
          m.shared_loads.ideal_wavefronts + m.shared_stores.ideal_wavefronts};
}

uint64_t count_of(const LineMetrics& m, MixClass c) { return m.mix[static_cast<size_t>(c)]; }

std::string place(const LineMetrics& line, const std::string& kernel) {
  if (line.line != 0) return fmt::format("{}:{}", line.file, line.line);
  return line.ptx_line != 0 ? fmt::format("{} (PTX line {})", kernel, line.ptx_line) : kernel;
}

namespace {

struct Roofline {
  double intensity = 0, ridge = 0;
  bool tensor = false;
  const char* side() const { return intensity < ridge ? "memory" : "compute"; }
};

Roofline roofline(const KernelMetrics& m) {
  Roofline r;
  r.intensity = ratio(m.total.flops, m.unique_global_bytes_read + m.unique_global_bytes_written);
  r.tensor = count_of(m.total, MixClass::tensor) > 0;
  r.ridge = (r.tensor ? kBf16TensorFlops : kFp32Flops) / kDramBytes;
  return r;
}

std::string mix_text(const LineMetrics& t) {
  std::vector<std::pair<uint64_t, const char*>> parts;
  for (size_t i = 0; i < t.mix.size(); ++i)
    if (t.mix[i] > 0) parts.emplace_back(t.mix[i], vgpu::name_of(static_cast<MixClass>(i)));
  std::stable_sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.first > b.first; });
  std::string out;
  for (size_t i = 0; i < parts.size() && i < 6; ++i)
    out += fmt::format("{}{} {:.0f}%", i ? ", " : "", parts[i].second,
                       100 * ratio(parts[i].first, t.thread_instructions));
  return out;
}

void row(std::string& out, const char* name, const std::string& value) {
  out += fmt::format("  {:<16}{}\n", name, value);
}

void memory_rows(std::string& out, const ProfiledLaunch& l) {
  const LineMetrics& t = l.metrics.total;
  MemoryCounters g = global_traffic(t);
  SharedCounters s = shared_traffic(t);
  if (g.requests)
    row(out, "global memory",
        fmt::format("{} requests, {:.2f} sectors each (ideal {:.2f}), efficiency {:.0f}%",
                    format_count(g.requests), ratio(g.sectors, g.requests),
                    ratio(g.ideal_sectors, g.requests), 100 * ratio(g.ideal_sectors, g.sectors)));
  row(out, "bytes",
      fmt::format("{} asked of the caches; distinct: {} read, {} written",
                  format_bytes(g.sectors * 32), format_bytes(l.metrics.unique_global_bytes_read),
                  format_bytes(l.metrics.unique_global_bytes_written)));
  if (s.requests)
    row(out, "shared memory",
        fmt::format("{} requests, {:.2f} wavefronts each (ideal {:.2f})", format_count(s.requests),
                    ratio(s.wavefronts, s.requests), ratio(s.ideal_wavefronts, s.requests)));
  if (t.local_memory.bytes) row(out, "local memory", format_bytes(t.local_memory.bytes));
  if (t.atomics.requests)
    row(out, "atomics",
        fmt::format("{} requests, up to {} lanes on one address", format_count(t.atomics.requests),
                    t.atomic_contention));
}

std::string head(const ProfiledLaunch& l) {
  std::string out = fmt::format("{}  grid ({},{},{}) block ({},{},{})", l.kernel, l.grid.x,
                                l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z);
  if (l.dynamic_shared_bytes) out += " dynamic shared " + format_bytes(l.dynamic_shared_bytes);
  if (l.times > 1) out += fmt::format("  x{}", l.times);
  return out + "\n";
}

std::string launch_text(const ProfiledLaunch& l) {
  const LineMetrics& t = l.metrics.total;
  std::string out = head(l);
  row(out, "instructions",
      fmt::format("{} thread, {} warp; {:.1f} of 32 lanes active",
                  format_count(t.thread_instructions), format_count(t.warp_instructions),
                  l.metrics.mean_active_lanes()));
  row(out, "mix", mix_text(t));
  if (t.branches)
    row(out, "branches",
        fmt::format("{} warp-level, {:.1f}% divergent", format_count(t.branches),
                    100 * ratio(t.divergent_branches, t.branches)));
  memory_rows(out, l);
  if (t.barriers) row(out, "barriers", format_count(t.barriers) + " warp-level");
  Roofline r = roofline(l.metrics);
  row(out, "arithmetic",
      fmt::format("{} FLOP, {:.2f} FLOP/byte of distinct data: {} side of the {} roofline (ridge "
                  "{:.0f})",
                  format_count(t.flops), r.intensity, r.side(), r.tensor ? "tensor-core" : "fp32",
                  r.ridge));
  if (l.resources)
    row(out, "registers",
        fmt::format("{} a thread; spills: {} B stored, {} B loaded (ptxas)", l.resources->registers,
                    l.resources->spill_store_bytes, l.resources->spill_load_bytes));
  row(out, "occupancy",
      l.occupancy ? fmt::format("{} blocks, {} of 64 warps a multiprocessor, limited by {}",
                                l.occupancy->blocks, l.occupancy->warps, l.occupancy->limited_by)
                  : std::string("unknown (needs ptxas)"));
  return out;
}

std::string hot_lines(const ProfiledLaunch& l) {
  std::vector<const LineMetrics*> order;
  for (const LineMetrics& line : l.metrics.lines) order.push_back(&line);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return a->thread_instructions > b->thread_instructions;
  });
  std::string out = fmt::format("  {:<30} {:>6} {:>6} {:>14} {:>16}\n", "source line", "share",
                                "lanes", "sectors/req", "wavefronts/req");
  auto pair = [](uint64_t n, uint64_t ideal, uint64_t requests) {
    return requests ? fmt::format("{:.1f} ({:.1f})", ratio(n, requests), ratio(ideal, requests))
                    : std::string("-");
  };
  for (size_t i = 0; i < order.size() && i < 8; ++i) {
    const LineMetrics& m = *order[i];
    MemoryCounters g = global_traffic(m);
    SharedCounters s = shared_traffic(m);
    out += fmt::format("  {:<30} {:>5.0f}% {:>6.1f} {:>14} {:>16}\n", place(m, l.kernel),
                       100 * ratio(m.thread_instructions, l.metrics.total.thread_instructions),
                       ratio(m.thread_instructions, m.warp_instructions),
                       pair(g.sectors, g.ideal_sectors, g.requests),
                       pair(s.wavefronts, s.ideal_wavefronts, s.requests));
  }
  return out;
}

Json memory_json(const MemoryCounters& c) {
  return Json::object({{"requests", c.requests},
                       {"sectors", c.sectors},
                       {"ideal_sectors", c.ideal_sectors},
                       {"bytes", c.bytes}});
}
Json shared_json(const SharedCounters& c) {
  return Json::object({{"requests", c.requests},
                       {"wavefronts", c.wavefronts},
                       {"ideal_wavefronts", c.ideal_wavefronts}});
}

Json line_json(const LineMetrics& m) {
  Json j = Json::object();
  if (m.line != 0) {
    j["file"] = m.file;
    j["line"] = m.line;
  }
  j["ptx_line"] = m.ptx_line;
  j["warp_instructions"] = m.warp_instructions;
  j["thread_instructions"] = m.thread_instructions;
  j["predicated_off"] = m.predicated_off;
  j["branches"] = m.branches;
  j["divergent_branches"] = m.divergent_branches;
  j["global_loads"] = memory_json(m.global_loads);
  j["global_stores"] = memory_json(m.global_stores);
  j["local_memory"] = memory_json(m.local_memory);
  j["atomics"] = memory_json(m.atomics);
  j["atomic_contention"] = m.atomic_contention;
  j["shared_loads"] = shared_json(m.shared_loads);
  j["shared_stores"] = shared_json(m.shared_stores);
  j["barriers"] = m.barriers;
  j["flops"] = m.flops;
  Json mix = Json::object();
  for (size_t i = 0; i < m.mix.size(); ++i)
    if (m.mix[i] > 0) mix[vgpu::name_of(static_cast<MixClass>(i))] = m.mix[i];
  j["mix"] = std::move(mix);
  return j;
}

Json launch_json(const ProfiledLaunch& l) {
  Roofline r = roofline(l.metrics);
  Json j = Json::object();
  j["kernel"] = l.kernel;
  j["grid"] = Json(Json::Array{l.grid.x, l.grid.y, l.grid.z});
  j["block"] = Json(Json::Array{l.block.x, l.block.y, l.block.z});
  j["dynamic_shared_bytes"] = l.dynamic_shared_bytes;
  j["times"] = l.times;
  j["total"] = line_json(l.metrics.total);
  j["unique_global_bytes_read"] = l.metrics.unique_global_bytes_read;
  j["unique_global_bytes_written"] = l.metrics.unique_global_bytes_written;
  j["mean_active_lanes"] = l.metrics.mean_active_lanes();
  j["flops_per_byte"] = r.intensity;
  j["roofline_side"] = r.side();
  j["registers"] = l.resources ? Json(l.resources->registers) : Json();
  j["spill_bytes"] =
      l.resources ? Json(l.resources->spill_store_bytes + l.resources->spill_load_bytes) : Json();
  j["resident_warps"] = l.occupancy ? Json(l.occupancy->warps) : Json();
  j["occupancy_limited_by"] = l.occupancy ? Json(l.occupancy->limited_by) : Json();
  j["lines"] = Json::array();
  for (const LineMetrics& line : l.metrics.lines) j["lines"].push_back(line_json(line));
  return j;
}

}  // namespace

std::string profile_text(const Profile& profile) {
  std::string out = fmt::format(
      "{} on {}  {}\nPTX-level: addresses are what a GPU sees before its caches; instruction "
      "counts "
      "are PTX's; no times.\n\n",
      profile.kernel_file, profile.task, profile.shapes);
  for (const ProfiledLaunch& launch : profile.launches) {
    out += launch_text(launch);
    if (!launch.metrics.lines.empty()) out += hot_lines(launch);
    out += "\n";
  }
  if (profile.launches.empty()) out += "no kernel was launched\n\n";
  std::vector<Cause> causes = likely_causes(profile);
  out += causes.empty() ? "no likely cause of slowness at PTX level\n" : "likely causes\n";
  for (const Cause& c : causes)
    out += fmt::format("  {:<26} {:>3.0f}%  {}\n      {}\n", c.code, 100 * c.severity, c.where,
                       c.text);
  return out;
}

Json profile_json(const Profile& profile) {
  Json j = Json::object();
  j["schema_version"] = 1;
  j["kind"] = "profile";
  j["level"] = "ptx";
  j["task"] = profile.task;
  j["shapes"] = profile.shapes;
  j["kernel"] = profile.kernel_file;
  j["task_flops"] = profile.task_flops;
  j["task_bytes_compulsory"] = profile.task_bytes_compulsory;
  j["launches"] = Json::array();
  for (const ProfiledLaunch& l : profile.launches) j["launches"].push_back(launch_json(l));
  j["causes"] = Json::array();
  for (const Cause& c : likely_causes(profile))
    j["causes"].push_back(Json::object(
        {{"code", c.code}, {"severity", c.severity}, {"where", c.where}, {"text", c.text}}));
  return j;
}

}  // namespace fiel::report
