#include "judge/torch/baseline_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "judge/probe_inputs.h"
#include "judge/timing.h"

namespace fiel::judge::torch {
namespace {

constexpr double kRounding = 0x1p-24;
constexpr uint64_t kAuditEvery = 16;

const CachedBaseline* row_of(const CachedTiming& timing, const std::string& name,
                             const std::string& policy) {
  for (const CachedBaseline& r : timing.rows)
    if (r.name == name && r.policy == policy) return &r;
  return nullptr;
}

bool share_a_probe(const std::vector<ProbeError>& a, const std::vector<ProbeError>& b) {
  return std::any_of(a.begin(), a.end(), [&](const ProbeError& x) {
    return std::any_of(b.begin(), b.end(), [&](const ProbeError& y) { return x.probe == y.probe; });
  });
}

double half_width(double low, double high) { return std::isfinite(high) ? (high - low) / 2 : 0; }

std::optional<std::string> drift_of(const CachedBaseline& row, const TimedSide& side) {
  if (!side.unavailable.empty() || side.median_ns <= 0)
    return fmt::format("{}, {}, which is cached, could not be timed", row.name, row.policy);
  const double allowed = half_width(row.low_ns, row.high_ns) +
                         half_width(side.low_ns, side.high_ns) + kDriftTolerance * row.median_ns;
  if (std::abs(side.median_ns - row.median_ns) <= allowed) return std::nullopt;
  return fmt::format("{}, {} takes {} where {} is cached: they may differ by {}", row.name,
                     row.policy, format_duration_ns(side.median_ns),
                     format_duration_ns(row.median_ns), format_duration_ns(allowed));
}

const TimedSide* fastest_comparable(const std::vector<LiveBaseline>& live) {
  const TimedSide* fastest = nullptr;
  for (const LiveBaseline& l : live)
    if (l.comparable && l.side->median_ns > 0 &&
        (fastest == nullptr || l.side->median_ns < fastest->median_ns))
      fastest = l.side;
  return fastest;
}

/// Not faster than the headline's, even where both have drifted as far as they may.
bool is_slower(const CachedBaseline& row, const TimedSide& headline) {
  return row.low_ns * (1 - kDriftTolerance) > headline.high_ns;
}

TimedSide side_of(const CachedBaseline& row, const CachedTiming& timing, CachedTime when,
                  const TimedSide& kernel) {
  TimedSide s;
  s.name = row.name;
  s.policy = row.policy;
  s.calls_a_sample = timing.calls;
  s.held = timing.held;
  s.cold = kernel.cold;
  s.graph = kernel.graph;
  s.median_ns = row.median_ns;
  s.low_ns = row.low_ns;
  s.high_ns = row.high_ns;
  s.device_median_ns = row.device_median_ns;
  s.host_median_ns = row.host_median_ns;
  s.wall_median_ns = row.wall_median_ns;
  s.numerics = row.numerics;
  s.relative_rms = row.relative_rms;
  s.componentwise = row.componentwise;
  s.cached = when;
  return s;
}

/// Of two intervals that were not measured together: the far ends of both, and the drift.
Ratio ratio_against(const CachedBaseline& row, const TimedSide& kernel,
                    const std::vector<ProbeError>& errors) {
  Ratio r;
  r.against = row.name;
  r.policy = row.policy;
  r.cached = true;
  r.comparable = comparable(errors, row.errors);
  if (kernel.median_ns <= 0) return r;
  Interval i;
  i.value = r.value = row.median_ns / kernel.median_ns;
  i.low = r.low = row.low_ns * (1 - kDriftTolerance) / kernel.high_ns;
  i.high = r.high = row.high_ns * (1 + kDriftTolerance) / kernel.low_ns;
  r.decision = decide(i);
  return r;
}

}  // namespace

Admission admission(const std::vector<ProbeError>& kernel,
                    const std::vector<ProbeError>& baseline) {
  if (!share_a_probe(kernel, baseline)) return Admission::unclear;
  if (comparable(kernel, baseline, kRounding, kNearTie / kAdmissionSlack)) return Admission::yes;
  return comparable(kernel, baseline, kRounding, kNearTie * kAdmissionSlack) ? Admission::unclear
                                                                             : Admission::no;
}

Sparing choose_spared(const CachedTiming& timing, const std::vector<ProbeError>& kernel) {
  const CachedBaseline* fastest = nullptr;
  for (const CachedBaseline& r : timing.rows)
    if (admission(kernel, r.errors) == Admission::yes &&
        (fastest == nullptr || r.median_ns < fastest->median_ns))
      fastest = &r;
  Sparing s;
  if (fastest == nullptr) {
    s.why = "no cached baseline is clearly as accurate as the kernel";
    return s;
  }
  for (const CachedBaseline& r : timing.rows) {
    const bool hopeless = r.low_ns > fastest->high_ns * (1 + kHopelessMargin);
    if (&r != fastest && (hopeless || admission(kernel, r.errors) == Admission::no))
      s.spared.push_back({r.name, r.policy});
  }
  if (s.spared.empty()) s.why = "every cached baseline may be the fastest";
  return s;
}

std::optional<std::string> refuted(const CachedTiming& timing,
                                   const std::vector<BaselineName>& spared,
                                   const std::vector<LiveBaseline>& live,
                                   const std::vector<ProbeError>& kernel) {
  for (const LiveBaseline& l : live)
    if (const CachedBaseline* row = row_of(timing, l.side->name, l.side->policy))
      if (auto drift = drift_of(*row, *l.side)) return drift;
  const TimedSide* headline = fastest_comparable(live);
  if (headline == nullptr) return "no baseline that was timed again is as accurate as the kernel";
  for (const BaselineName& name : spared) {
    const CachedBaseline* row = row_of(timing, name.name, name.policy);
    if (row == nullptr)
      return fmt::format("{}, {} is not cached for this mode of calls", name.name, name.policy);
    if (admission(kernel, row->errors) == Admission::no || is_slower(*row, *headline)) continue;
    return fmt::format("{}, {} may be faster than the fastest that was timed again", name.name,
                       name.policy);
  }
  return std::nullopt;
}

void show_cached(const CachedTiming& timing, const std::vector<BaselineName>& spared,
                 int64_t now_ms, const std::vector<ProbeError>& kernel, Measurement& m) {
  if (m.sides.empty()) return;
  const CachedTime when{timing.measured_ms, std::max<int64_t>(now_ms - timing.measured_ms, 0)};
  for (const BaselineName& name : spared) {
    const CachedBaseline* row = row_of(timing, name.name, name.policy);
    if (row == nullptr) continue;
    m.sides.push_back(side_of(*row, timing, when, m.sides.front()));
    m.ratios.push_back(ratio_against(*row, m.sides.front(), kernel));
  }
  choose_headline(m);
}

bool is_audit(uint64_t seed) { return derive_seed(seed, 4243) % kAuditEvery == 0; }

}  // namespace fiel::judge::torch
