#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/profile.h"
#include "report/profile_traffic.h"

namespace fiel::report {
namespace {

using vgpu::KernelMetrics;
using vgpu::LineMetrics;
using vgpu::MemoryCounters;
using vgpu::MixClass;
using vgpu::SharedCounters;

/// The source line with the largest positive value of `f`, or the totals.
template <typename F>
const LineMetrics& worst_line(const KernelMetrics& m, F f) {
  const LineMetrics* worst = nullptr;
  for (const LineMetrics& line : m.lines)
    if (f(line) > 0 && (worst == nullptr || f(line) > f(*worst))) worst = &line;
  return worst ? *worst : m.total;
}

void coalescing(const ProfiledLaunch& launch, std::vector<Cause>& out) {
  MemoryCounters all = global_traffic(launch.metrics.total);
  double wasted = 1.0 - ratio(all.ideal_sectors, all.sectors);
  if (all.sectors == 0 || wasted < 0.1) return;
  const LineMetrics& at = worst_line(launch.metrics, [](const LineMetrics& l) {
    MemoryCounters g = global_traffic(l);
    return static_cast<double>(g.sectors) - static_cast<double>(g.ideal_sectors);
  });
  MemoryCounters g = global_traffic(at);
  out.push_back({"uncoalesced-access", wasted, place(at, launch.kernel),
                 fmt::format("{:.1f} sectors a request where {:.1f} would do: neighbouring lanes "
                             "should touch neighbouring addresses (swap the index that varies with "
                             "threadIdx.x, or stage through shared memory)",
                             ratio(g.sectors, g.requests), ratio(g.ideal_sectors, g.requests))});
}

void bank_conflicts(const ProfiledLaunch& launch, std::vector<Cause>& out) {
  SharedCounters all = shared_traffic(launch.metrics.total);
  double wasted = 1.0 - ratio(all.ideal_wavefronts, all.wavefronts);
  if (all.wavefronts == 0 || wasted < 0.1) return;
  const LineMetrics& at = worst_line(launch.metrics, [](const LineMetrics& l) {
    SharedCounters s = shared_traffic(l);
    return static_cast<double>(s.wavefronts) - static_cast<double>(s.ideal_wavefronts);
  });
  SharedCounters s = shared_traffic(at);
  out.push_back(
      {"bank-conflicts", wasted, place(at, launch.kernel),
       fmt::format("{:.1f} passes over the banks a request where {:.1f} would do: pad the "
                   "row by one element, or swizzle the index",
                   ratio(s.wavefronts, s.requests), ratio(s.ideal_wavefronts, s.requests))});
}

void divergence(const ProfiledLaunch& launch, std::vector<Cause>& out) {
  double lanes = launch.metrics.mean_active_lanes();
  if (launch.metrics.total.warp_instructions == 0 || lanes > 27) return;
  const LineMetrics& at = worst_line(launch.metrics, [](const LineMetrics& l) {
    return static_cast<double>(l.divergent_branches);
  });
  bool short_block = launch.block.count() % 32 != 0;
  std::string why =
      short_block ? fmt::format("the block has {} threads, no multiple of 32", launch.block.count())
                  : std::string(
                        "lanes of a warp take different ways; give a warp "
                        "work of one kind");
  out.push_back({"divergence", 1.0 - lanes / 32.0, place(at, launch.kernel),
                 fmt::format("{:.1f} of 32 lanes are active on average: {}", lanes, why)});
}

void occupancy(const ProfiledLaunch& launch, std::vector<Cause>& out) {
  if (launch.occupancy && launch.occupancy->warps < 16)
    out.push_back({"low-occupancy", 1.0 - launch.occupancy->warps / 64.0, launch.kernel,
                   fmt::format("{} of 64 warps fit a multiprocessor, limited by {}: latency has "
                               "little to hide behind unless each thread has much independent work",
                               launch.occupancy->warps, launch.occupancy->limited_by)});
  constexpr double kMultiprocessors = 132;  // of an H200
  double blocks = static_cast<double>(launch.grid.count());
  if (blocks < kMultiprocessors)
    out.push_back({"small-grid", 1.0 - blocks / kMultiprocessors, launch.kernel,
                   fmt::format("{} blocks for 132 multiprocessors: most of the GPU idles at this "
                               "shape; split the work along another dimension",
                               launch.grid.count())});
}

void local_memory(const ProfiledLaunch& launch, std::vector<Cause>& out) {
  const LineMetrics& t = launch.metrics.total;
  uint64_t spilled = 0;
  if (launch.resources)
    spilled = launch.resources->spill_load_bytes + launch.resources->spill_store_bytes;
  double share = ratio(t.local_memory.sectors, t.local_memory.sectors + global_traffic(t).sectors);
  if (share < 0.02 && spilled == 0) return;
  const LineMetrics& at = worst_line(launch.metrics, [](const LineMetrics& l) {
    return static_cast<double>(l.local_memory.bytes);
  });
  std::string note = spilled ? fmt::format(", {} B a thread spilled by ptxas", spilled) : "";
  out.push_back({"local-memory", share, place(at, launch.kernel),
                 fmt::format("{} through local memory{}: index arrays with constants only, or "
                             "unroll, so that they stay in registers",
                             format_bytes(t.local_memory.bytes), note)});
}

void atomics(const ProfiledLaunch& launch, std::vector<Cause>& out) {
  const LineMetrics& t = launch.metrics.total;
  if (t.atomics.requests == 0 || t.atomic_contention < 8) return;
  const LineMetrics& at = worst_line(launch.metrics, [](const LineMetrics& l) {
    return static_cast<double>(l.atomic_contention);
  });
  double share = ratio(count_of(t, MixClass::atomic), t.thread_instructions);
  out.push_back({"atomic-contention", std::min(1.0, share * 10), place(at, launch.kernel),
                 fmt::format("up to {} lanes of a warp update one address at once: reduce within "
                             "the warp or block first",
                             t.atomic_contention)});
}

void repeated_reads(const ProfiledLaunch& launch, std::vector<Cause>& out) {
  uint64_t unique =
      launch.metrics.unique_global_bytes_read + launch.metrics.unique_global_bytes_written;
  // Ideal sectors: what bad coalescing adds is another cause's business.
  uint64_t moved = global_traffic(launch.metrics.total).ideal_sectors * 32;
  if (unique == 0 || moved < 4 * unique) return;
  out.push_back({"repeated-reads", 1.0 - ratio(unique, moved), launch.kernel,
                 fmt::format("asks the caches for {} of {} of distinct data ({:.1f}x): keep tiles "
                             "in shared memory or registers",
                             format_bytes(moved), format_bytes(unique), ratio(moved, unique))});
}

void intermediates(const Profile& p, std::vector<Cause>& out) {
  uint64_t launches = 0;
  double moved = 0;
  for (const ProfiledLaunch& l : p.launches) {
    launches += l.times;
    moved +=
        static_cast<double>(l.times) * static_cast<double>(l.metrics.unique_global_bytes_read +
                                                           l.metrics.unique_global_bytes_written);
  }
  if (launches < 2 || p.task_bytes_compulsory <= 0 || moved < 1.3 * p.task_bytes_compulsory) return;
  out.push_back({"materialised-intermediates", 1.0 - p.task_bytes_compulsory / moved, p.kernel_file,
                 fmt::format("{} launches move {} where the task's inputs and outputs are {}: "
                             "results go to memory between kernels; fuse them",
                             launches, format_bytes(static_cast<uint64_t>(moved)),
                             format_bytes(static_cast<uint64_t>(p.task_bytes_compulsory)))});
}

}  // namespace

std::vector<Cause> likely_causes(const Profile& profile) {
  std::vector<Cause> out;
  for (const ProfiledLaunch& launch : profile.launches)
    for (auto* rule :
         {coalescing, bank_conflicts, divergence, occupancy, local_memory, atomics, repeated_reads})
      rule(launch, out);
  intermediates(profile, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const Cause& a, const Cause& b) { return a.severity > b.severity; });
  return out;
}

}  // namespace fiel::report
