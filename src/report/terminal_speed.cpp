#include "report/terminal_speed.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace fiel::report {
namespace {

using judge::Measurement;
using judge::Ratio;
using judge::TimedSide;

/// What a PyTorch task's own shapes are called: they go without saying.
constexpr const char* kOwnShapes = "given";

std::string label(const std::string& name, const std::string& policy) {
  return policy.empty() ? name : name + ", " + policy;
}

/// Of times that are not taken as usual, with caches flushed and every launch made anew.
std::string mode_suffix(const TimedSide& s) {
  return s.graph ? " (graph)" : s.cold ? "" : " (warm)";
}

std::string interval(double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high)) return "[too few samples]";
  return fmt::format("[{:.3f}, {:.3f}]", low, high);
}

const Ratio* ratio_for(const Measurement& m, const TimedSide& side) {
  for (const Ratio& r : m.ratios)
    if (r.against == side.name && r.policy == side.policy) return &r;
  return nullptr;
}

std::string headline(const Measurement& m) {
  std::string text = fmt::format("  speed  {}", judge::name_of(m.speed));
  if (!m.sides.empty()) text += mode_suffix(m.sides.front());
  if (!m.shape_set.empty() && m.shape_set != kOwnShapes) text += " at " + m.shape_set;
  if (m.headline && *m.headline < m.ratios.size()) {
    const Ratio& r = m.ratios[*m.headline];
    text += fmt::format(": {:.3f} of {} {} in {} rounds", r.value, label(r.against, r.policy),
                        interval(r.low, r.high), r.rounds);
  }
  if (!m.why.empty()) text += " (" + m.why + ")";
  return text + "\n";
}

/// In the largest unit that leaves a whole number: ages are not read more exactly.
std::string age(int64_t ms) {
  constexpr int64_t kMinute = 60'000, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (ms >= 2 * kDay) return fmt::format("{} days", ms / kDay);
  if (ms >= 2 * kHour) return fmt::format("{} hours", ms / kHour);
  return fmt::format("{} min", ms / kMinute);
}

std::string row(const Measurement& m, const TimedSide& s) {
  const std::string name = label(s.name, s.policy) + mode_suffix(s);
  if (!s.unavailable.empty()) return fmt::format("  {:<24}not timed: {}\n", name, s.unavailable);
  std::string text = fmt::format("  {:<24}{:>10}{:>9}", name, format_duration_ns(s.median_ns),
                                 s.numerics ? fiel::name_of(*s.numerics) : std::string_view("-"));
  if (const Ratio* r = ratio_for(m, s))
    text += fmt::format("{:>9.3f}  {:<18}{}{}", r->value, interval(r->low, r->high),
                        judge::name_of(r->decision), r->comparable ? "" : ", less accurate");
  if (s.cached) text += ", cached " + age(s.cached->age_ms) + " ago";
  if (s.samples_set_aside > 0) text += fmt::format("  {} samples set aside", s.samples_set_aside);
  if (!s.events_believed) text += "  times claimed were not believed";
  return text + "\n";
}

std::string memory_line(const judge::MemoryUse& m) {
  if (m.kernel_peak_bytes == 0) return {};
  std::string text =
      fmt::format("  memory {} at most, {} of it kept", format_bytes(m.kernel_peak_bytes),
                  format_bytes(m.kernel_persistent_bytes));
  if (m.baseline_peak_bytes > 0)
    text += fmt::format(", eager {}{} (efficiency {:.2f})", format_bytes(m.baseline_peak_bytes),
                        m.baseline_cached ? ", cached" : "", m.efficiency);
  return text + "\n";
}

/// Whose kernels took the time, and what they are called: the longest ones.
std::string kernels_lines(const judge::LaunchedKernels& launched) {
  constexpr size_t kShown = 3;
  const std::optional<double> own = judge::own_share(launched.kernels);
  if (!own) return "  kernels  not seen: " + launched.missing + "\n";
  double device_ns = 0;
  for (const judge::KernelEvidence& k : launched.kernels) device_ns += k.device_ns;
  std::string text =
      fmt::format("  kernels  {} of them, own ones have {:.0f} % of the {}\n",
                  launched.kernels.size(), 100 * *own, device_ns > 0 ? "device time" : "launches");
  for (size_t i = 0; i < std::min(kShown, launched.kernels.size()); ++i) {
    const judge::KernelEvidence& k = launched.kernels[i];
    text += fmt::format("    {:<44.44}{:<10}{:>6} launches{}{}\n", k.name, k.origin, k.launches,
                        k.device_ns > 0 ? "  " + format_duration_ns(k.device_ns) : std::string(),
                        k.tensor_core ? "  tensor cores" : "");
  }
  return text;
}

std::string cache_line(const judge::BaselineCacheUse& c) {
  if (c.outcome != judge::BaselineCacheUse::Outcome::discarded) return {};
  return "  cached baselines were discarded, all were measured anew: " + c.why + "\n";
}

}  // namespace

std::string render_measurement(const Measurement& m) {
  if (m.sides.empty() && m.why.empty()) return {};
  std::string text = headline(m);
  if (!m.sides.empty())
    text += fmt::format("  {:<24}{:>10}{:>9}{:>9}  {}\n", "side", "time", "class", "ratio",
                        "95 % interval");
  for (const TimedSide& s : m.sides) text += row(m, s);
  text += memory_line(m.memory);
  if (!m.sides.empty()) text += kernels_lines(m.launched);
  text += cache_line(m.baseline_cache);
  if (m.floor)
    text += fmt::format("  floor  {} by {}: {:.0f} % of the speed of light\n",
                        format_duration_ns(m.floor->floor_ns), m.floor->bound_by,
                        100 * m.floor->light_share);
  if (m.samples > 0)
    text += fmt::format("  {} timed calls, {} compared in full\n", format_count(m.samples),
                        format_count(m.samples_verified));
  return text + "\n";
}

}  // namespace fiel::report
