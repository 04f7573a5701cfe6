#include "report/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace fiel::report {
namespace {

const std::string kTime = "gpu__time_duration.sum";
const std::string kDram = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
const std::string kL2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
const std::string kL1 = "l1tex__throughput.avg.pct_of_peak_sustained_active";
const std::string kSm = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
const std::string kWarps = "sm__warps_active.avg.pct_of_peak_sustained_active";
const std::string kRegisters = "launch__registers_per_thread";
const std::string kShared = "launch__shared_mem_per_block";
const std::string kWaves = "launch__waves_per_multiprocessor";
const std::string kLoads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const std::string kLoadSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const std::string kLoadUse = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio";
const std::string kStores = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
const std::string kStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
const std::string kStoreUse = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio";
const std::string kLocalLoads = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum";
const std::string kLocalStores = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum";
const std::array<std::string, 2> kWavefronts = {
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"};
const std::array<std::string, 2> kConflicts = {
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"};

/// Why warps wait, in ncu's word and in ours.
struct Stall {
  const char *name, *text;
};
constexpr Stall kStalls[] = {
    {"long_scoreboard", "waiting for global or local memory: more loads in flight, fewer bytes"},
    {"short_scoreboard", "waiting for shared memory or special functions"},
    {"barrier", "waiting at __syncthreads: smaller blocks, less uneven work between barriers"},
    {"membar", "waiting for a memory fence"},
    {"lg_throttle", "too many memory instructions queued: wider accesses, fewer of them"},
    {"mio_throttle", "too many shared-memory or special instructions queued"},
    {"math_pipe_throttle", "the arithmetic pipes are busy"},
    {"wait", "fixed latency of dependent instructions: more independent work a thread"},
    {"not_selected", "other warps were ready: enough of them are resident"},
    {"no_instruction", "waiting for instructions: code that is too long or jumps much"},
    {"drain", "waiting for stores at the end of the kernel"},
    {"branch_resolve", "waiting for branches"},
    {"imc_miss", "waiting for constants"},
    {"sleeping", "asleep (nanosleep)"}};

std::string stall_metric(const Stall& s) {
  return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", s.name);
}

double value_of(const CountedLaunch& l, const std::string& name, double otherwise = 0) {
  const auto it = l.values.find(name);
  return it == l.values.end() ? otherwise : it->second;
}
bool has(const CountedLaunch& l, const std::string& name) { return l.values.count(name) > 0; }
double share_of(double part, double whole) { return whole > 0 ? std::min(part / whole, 1.0) : 0; }

/// One of equal launches with means for values, and how many there were.
struct Entry {
  CountedLaunch mean;
  uint64_t times = 0;
  double total_ns = 0;
};

std::vector<Entry> entries_of(const std::vector<CountedLaunch>& launches) {
  std::vector<Entry> entries;
  for (const CountedLaunch& l : launches) {
    auto it = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
      return e.mean.kernel == l.kernel && e.mean.grid == l.grid && e.mean.block == l.block;
    });
    if (it == entries.end())
      it = entries.insert(entries.end(), Entry{{l.kernel, l.grid, l.block, {}}});
    for (const auto& [name, value] : l.values) it->mean.values[name] += value;
    it->total_ns += value_of(l, kTime);
    ++it->times;
  }
  for (Entry& e : entries)
    for (auto& [name, value] : e.mean.values) value /= static_cast<double>(e.times);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.total_ns > b.total_ns; });
  return entries;
}

void row(std::string& out, const char* name, const std::string& text) {
  if (!text.empty()) out += fmt::format("  {:<14} {}\n", name, text);
}

/// "DRAM 81%, L2 45%"; what is not there is left out.
std::string percents(const CountedLaunch& l,
                     std::initializer_list<std::pair<const char*, const std::string*>> names) {
  std::string out;
  for (const auto& [name, metric] : names)
    if (has(l, *metric))
      out += fmt::format("{}{} {:.0f}%", out.empty() ? "" : ", ", name, value_of(l, *metric));
  return out;
}

/// Bytes used of a sector. Copies into shared memory (LDGSTS) are counted as requests and sectors,
/// not here: where a kernel has no other loads ncu says 0.
std::optional<double> used_bytes(const CountedLaunch& l, const std::string& use) {
  const double bytes = value_of(l, use);
  return has(l, use) && bytes > 0 ? std::optional(bytes) : std::nullopt;
}

std::string access_text(const CountedLaunch& l, const std::string& requests,
                        const std::string& sectors, const std::string& use) {
  if (value_of(l, requests) <= 0 || !has(l, sectors)) return "";
  std::string out =
      fmt::format("{:.1f} sectors a request", value_of(l, sectors) / value_of(l, requests));
  if (const auto used = used_bytes(l, use))
    out += fmt::format(", {:.0f} of 32 bytes of each used", *used);
  return out;
}

std::string occupancy_text(const CountedLaunch& l) {
  std::string out;
  const auto add = [&](std::string text) { out += (out.empty() ? "" : "; ") + std::move(text); };
  if (has(l, kWarps)) add(fmt::format("{:.0f}% of warps resident", value_of(l, kWarps)));
  if (has(l, kRegisters)) add(fmt::format("{:.0f} registers a thread", value_of(l, kRegisters)));
  if (has(l, kShared))
    add(format_bytes(static_cast<uint64_t>(value_of(l, kShared))) + " of shared memory a block");
  if (has(l, kWaves)) add(fmt::format("{:.1f} waves of blocks", value_of(l, kWaves)));
  return out;
}

std::string shared_text(const CountedLaunch& l) {
  const double all = value_of(l, kWavefronts[0]) + value_of(l, kWavefronts[1]);
  const double conflicts = value_of(l, kConflicts[0]) + value_of(l, kConflicts[1]);
  if (all <= 0) return "";
  return fmt::format("{} wavefronts, {} of bank conflicts",
                     format_count(static_cast<uint64_t>(all)),
                     format_count(static_cast<uint64_t>(conflicts)));
}

std::vector<std::pair<double, const Stall*>> stalls_of(const CountedLaunch& l) {
  std::vector<std::pair<double, const Stall*>> all;
  for (const Stall& s : kStalls)
    if (const double v = value_of(l, stall_metric(s)); v > 0) all.emplace_back(v, &s);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return all;
}

std::string stalls_text(const CountedLaunch& l) {
  std::string out;
  const auto all = stalls_of(l);
  for (size_t i = 0; i < std::min<size_t>(all.size(), 3); ++i)
    out += fmt::format("{}{} {:.1f}", out.empty() ? "" : ", ", all[i].second->name, all[i].first);
  return out.empty() ? "" : out + " (warps that wait, an issued instruction)";
}

void access_cause(const CountedLaunch& l, const char* what, const std::string& use,
                  const std::string& requests, const std::string& sectors,
                  std::vector<Cause>& out) {
  // A warp's widest access, 16 bytes a lane, has 16 sectors.
  constexpr double kMostSectors = 16;
  const double n = value_of(l, requests);
  if (n <= 0) return;
  const double each = value_of(l, sectors) / n;
  // Of a sector that is fetched whole three quarters are used by a tail or a shifted row too.
  const auto used = used_bytes(l, use);
  const bool wasteful = used && *used < 24;
  if (!wasteful && each <= kMostSectors) return;
  const double wasted = wasteful ? 1 - *used / 32 : 1 - kMostSectors / each;
  out.push_back(
      {"uncoalesced-access", wasted, l.kernel,
       fmt::format("of what {} move is of no use ({:.1f} sectors a request): neighbouring "
                   "lanes should touch neighbouring addresses",
                   what, each)});
}

/// A unit near its peak: what bounds the kernel, and no fault in itself.
bool bound_cause(const CountedLaunch& l, std::vector<Cause>& out) {
  const std::pair<const std::string*, std::pair<const char*, const char*>> kBounds[] = {
      {&kDram, {"dram-bound", "near the memory's bandwidth: only fewer bytes make it faster"}},
      {&kL2, {"l2-bound", "near the L2's bandwidth: reuse in registers or shared memory"}},
      {&kL1,
       {"l1-bound",
        "near the bandwidth of L1 and shared memory: wider accesses, reuse in "
        "registers"}},
      {&kSm,
       {"compute-bound",
        "near the peak of an arithmetic pipe: fewer or cheaper instructions, "
        "tensor cores for products"}}};
  bool any = false;
  for (const auto& [metric, words] : kBounds)
    if (const double v = value_of(l, *metric); v >= 70) {
      out.push_back({words.first, v / 100, l.kernel, words.second});
      any = true;
    }
  return any;
}

void latency_causes(const CountedLaunch& l, std::vector<Cause>& out) {
  if (has(l, kWaves) && value_of(l, kWaves) < 1)
    out.push_back({"small-grid", 1 - value_of(l, kWaves), l.kernel,
                   fmt::format("the grid fills {:.0f}% of the multiprocessors' room once: more, "
                               "smaller blocks",
                               100 * value_of(l, kWaves))});
  if (has(l, kWarps) && value_of(l, kWarps) < 40)
    out.push_back({"low-occupancy", 1 - value_of(l, kWarps) / 100, l.kernel,
                   fmt::format("{:.0f}% of the warps that fit: {:.0f} registers a thread, {} of "
                               "shared memory a block",
                               value_of(l, kWarps), value_of(l, kRegisters),
                               format_bytes(static_cast<uint64_t>(value_of(l, kShared))))});
  const auto stalls = stalls_of(l);
  double all = 0;
  for (const auto& [v, s] : stalls) all += v;
  for (const auto& [v, s] : stalls)
    if (const double share = share_of(v, all);
        share >= 0.3 && std::string(s->name) != "not_selected")
      out.push_back({fmt::format("stalled-{}", s->name), share, l.kernel, s->text});
}

std::string entry_text(const Entry& e, double all_ns) {
  const CountedLaunch& l = e.mean;
  std::string out = fmt::format("{}  grid {} block {}{}\n", demangled(l.kernel), l.grid, l.block,
                                e.times > 1 ? fmt::format("  x{}", e.times) : std::string());
  if (has(l, kTime))
    row(out, "time",
        fmt::format("{} a launch, {:.0f}% of all that were counted",
                    format_duration_ns(value_of(l, kTime)), 100 * share_of(e.total_ns, all_ns)));
  row(out, "of peak", percents(l, {{"DRAM", &kDram}, {"L2", &kL2}, {"L1", &kL1}, {"SM", &kSm}}));
  row(out, "occupancy", occupancy_text(l));
  row(out, "global loads", access_text(l, kLoads, kLoadSectors, kLoadUse));
  row(out, "global stores", access_text(l, kStores, kStoreSectors, kStoreUse));
  row(out, "shared", shared_text(l));
  row(out, "stalls", stalls_text(l));
  const std::vector<Cause> causes = counted_causes(l);
  out += causes.empty() ? "  no likely cause of slowness\n" : "  likely causes\n";
  for (size_t i = 0; i < std::min<size_t>(causes.size(), 6); ++i)
    out += fmt::format("    {:<24} {:>3.0f}%  {}\n", causes[i].code, 100 * causes[i].severity,
                       causes[i].text);
  return out;
}

}  // namespace

const std::vector<std::string>& counted_metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {kTime,        kDram,       kL2,     kL1,           kSm,
                                    kWarps,       kRegisters,  kShared, kWaves,        kLoads,
                                    kLoadSectors, kLoadUse,    kStores, kStoreSectors, kStoreUse,
                                    kLocalLoads,  kLocalStores};
    all.insert(all.end(), kWavefronts.begin(), kWavefronts.end());
    all.insert(all.end(), kConflicts.begin(), kConflicts.end());
    for (const Stall& s : kStalls) all.push_back(stall_metric(s));
    return all;
  }();
  return names;
}

std::vector<Cause> counted_causes(const CountedLaunch& l) {
  std::vector<Cause> causes;
  const double wavefronts = value_of(l, kWavefronts[0]) + value_of(l, kWavefronts[1]);
  const double conflicts = value_of(l, kConflicts[0]) + value_of(l, kConflicts[1]);
  if (const double wasted = share_of(conflicts, wavefronts); wasted >= 0.1)
    causes.push_back({"bank-conflicts", wasted, l.kernel,
                      "of shared memory's wavefronts are conflicts: pad the row by one element, or "
                      "swizzle the index"});
  access_cause(l, "loads", kLoadUse, kLoads, kLoadSectors, causes);
  access_cause(l, "stores", kStoreUse, kStores, kStoreSectors, causes);
  const double local = value_of(l, kLocalLoads) + value_of(l, kLocalStores);
  const double global = value_of(l, kLoadSectors) + value_of(l, kStoreSectors);
  if (const double share = share_of(local, local + global); share >= 0.05)
    causes.push_back({"spills", share, l.kernel,
                      "of the sectors are local memory: registers spill, or an array is indexed at "
                      "run time"});
  if (!bound_cause(l, causes)) latency_causes(l, causes);
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& a, const Cause& b) { return a.severity > b.severity; });
  return causes;
}

std::string counted_text(const std::vector<CountedLaunch>& launches) {
  constexpr size_t kShown = 4;
  const std::vector<Entry> entries = entries_of(launches);
  double all_ns = 0;
  for (const Entry& e : entries) all_ns += e.total_ns;
  std::string out;
  for (size_t i = 0; i < std::min(entries.size(), kShown); ++i)
    out += entry_text(entries[i], all_ns) + "\n";
  if (entries.size() > kShown)
    out += fmt::format("… {} shorter kernels\n", entries.size() - kShown);
  return out;
}

Json counted_json(const std::vector<CountedLaunch>& launches) {
  Json all = Json::array();
  for (const CountedLaunch& l : launches) {
    Json j = Json::object({{"kernel", l.kernel}, {"grid", l.grid}, {"block", l.block}});
    j["values"] = Json::object();
    for (const auto& [name, value] : l.values) j["values"][name] = value;
    j["causes"] = Json::array();
    for (const Cause& c : counted_causes(l))
      j["causes"].push_back(
          Json::object({{"code", c.code}, {"severity", c.severity}, {"text", c.text}}));
    all.push_back(std::move(j));
  }
  return all;
}

}  // namespace fiel::report
