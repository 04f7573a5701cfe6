#include "judge/timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace fiel::judge {
namespace {

/// A trusted side may use its device times only where they are there.
double claimed_ns(const TimeSample& s) { return s.device_ns > 0 ? s.device_ns : 0; }

/// The wall time from when the device may have had work.
double working_ns(const TimeSample& s) {
  return s.wall_ns - std::clamp(s.lead_ns, 0.0, std::max(s.wall_ns, 0.0));
}

/// The same, and what the device went on working on for longer than it does after others' calls:
/// work put off until the clock has stopped is work all the same.
double wall_of(const TimeSample& s, const Gap& gap) {
  return working_ns(s) + (gap.tail_high_ns > 0 ? std::max(0.0, s.tail_ns - gap.tail_high_ns) : 0);
}

void set_aside_throttled(TimedSide& side) {
  std::vector<double> clocks;
  for (const TimeSample& s : side.samples)
    if (s.sm_clock_mhz > 0) clocks.push_back(s.sm_clock_mhz);
  const double least = kClockShare * median(clocks);
  side.samples_set_aside = 0;
  for (TimeSample& s : side.samples) {
    const bool slow = s.sm_clock_mhz > 0 && s.sm_clock_mhz < least;
    s.set_aside = slow || (s.throttle & kThrottleReasons) != 0;
    side.samples_set_aside += s.set_aside ? 1 : 0;
  }
}

/// Do the claims agree with the judge's clock on the whole? Half of the samples must exceed the gap
/// by no more than what two medians can differ by.
bool believes(const TimedSide& side, const Gap& gap) {
  std::vector<double> beside;
  for (const TimeSample& s : side.samples)
    if (!s.set_aside) beside.push_back(wall_of(s, gap) - claimed_ns(s) * side.calls_a_sample);
  const Interval excess = median_interval(beside);
  const double own = excess.bounded() ? (excess.high - excess.low) / 2 : 0;
  return excess.value - gap.median_ns <= std::max(gap.slack_ns / 4, gap.resolution_ns + own);
}

std::vector<double> kept(const TimedSide& side, double TimeSample::*figure) {
  std::vector<double> values;
  for (const TimeSample& s : side.samples)
    if (!s.set_aside) values.push_back(s.*figure);
  return values;
}

/// Median credited time of each round that has any.
std::map<uint32_t, double> by_round(const TimedSide& side) {
  std::map<uint32_t, std::vector<double>> rounds;
  for (const TimeSample& s : side.samples)
    if (!s.set_aside && s.credited_ns > 0) rounds[s.round].push_back(s.credited_ns);
  std::map<uint32_t, double> medians;
  for (const auto& [round, values] : rounds) medians[round] = median(values);
  return medians;
}

}  // namespace

Gap gap_of(std::span<const TimedSide* const> trusted) {
  std::vector<double> beside, tails;
  for (const TimedSide* side : trusted)
    for (const TimeSample& s : side->samples)
      if (claimed_ns(s) > 0 && (s.throttle & kThrottleReasons) == 0) {
        beside.push_back(working_ns(s) - claimed_ns(s) * side->calls_a_sample);
        tails.push_back(s.tail_ns);
      }
  Gap gap;
  gap.samples = beside.size();
  if (beside.empty()) return gap;
  const Interval middle = median_interval(beside);
  gap.median_ns = middle.value;
  gap.tail_high_ns = quantile(tails, 0.95);
  gap.slack_ns = quantile(beside, 0.95) - middle.value;
  gap.resolution_ns = middle.bounded() ? (middle.high - middle.low) / 2 : gap.slack_ns;
  return gap;
}

double credited_ns(const TimeSample& sample, uint32_t calls, const Gap& gap, Trust trust,
                   bool believed) {
  const double claim = claimed_ns(sample);
  if (trust == Trust::trusted && claim > 0) return claim;
  // Without any trusted side there is no gap: the wall time stands.
  const double slack = believed ? gap.slack_ns : 0;
  const double wall = (wall_of(sample, gap) - gap.median_ns) / calls;
  // An honest claim is not raised by the noise of the clock; a dishonest one gains nothing by it.
  return wall - slack / calls > claim ? wall : claim;
}

void credit(TimedSide& side, const Gap& gap, Trust trust) {
  set_aside_throttled(side);
  side.events_believed = trust == Trust::trusted || believes(side, gap);
  side.gap_ns = gap.median_ns;
  for (TimeSample& s : side.samples)
    s.credited_ns = credited_ns(s, side.calls_a_sample, gap, trust, side.events_believed);
  const Interval time = median_interval(kept(side, &TimeSample::credited_ns));
  side.median_ns = time.value;
  side.low_ns = std::max(time.low, 0.0);
  side.high_ns = time.high;
  side.device_median_ns = median(kept(side, &TimeSample::device_ns));
  side.host_median_ns = median(kept(side, &TimeSample::host_ns));
  side.wall_median_ns = median(kept(side, &TimeSample::wall_ns));
}

Ratio ratio_of(const TimedSide& kernel, const TimedSide& baseline) {
  Ratio ratio;
  ratio.against = baseline.name;
  ratio.policy = baseline.policy;
  const auto own = by_round(kernel), other = by_round(baseline);
  std::vector<double> ratios;
  for (const auto& [round, time] : own)
    if (const auto paired = other.find(round); paired != other.end())
      ratios.push_back(paired->second / time);
  if (ratios.empty()) return ratio;
  const Interval interval = median_interval(ratios);
  ratio.value = interval.value;
  ratio.low = std::max(interval.low, 0.0);
  ratio.high = interval.high;
  ratio.rounds = static_cast<uint32_t>(ratios.size());
  ratio.decision = decide(interval);
  return ratio;
}

SpeedDecision decide(const Interval& ratio) {
  const double above = 1 + kSameMargin, below = 1 / above;
  if (!ratio.bounded()) return SpeedDecision::ambiguous;
  if (ratio.low > above) return SpeedDecision::faster;
  if (ratio.high < below) return SpeedDecision::slower;
  if (ratio.low >= below && ratio.high <= above) return SpeedDecision::same;
  return SpeedDecision::ambiguous;
}

bool settled(const Ratio& ratio) {
  return ratio.decision != SpeedDecision::ambiguous &&
         ratio.decision != SpeedDecision::not_measured;
}

uint32_t next_rounds(uint32_t rounds) { return rounds == 0 ? 12 : 2 * rounds; }

uint32_t most_calls(const BatchLimits& limits) {
  if (!limits.held) return 1;
  uint64_t most = kQueuedLaunches / (uint64_t{limits.launches} + kLaunchesBesideACall);
  if (limits.slot_bytes > 0) most = std::min(most, limits.window_bytes / 2 / limits.slot_bytes);
  return static_cast<uint32_t>(std::clamp<uint64_t>(most, 1, kMostCalls));
}

uint32_t calls_for(double estimated_ns, double gap_noise_ns, uint32_t most) {
  if (estimated_ns <= 0) return 1;
  const double calls = std::ceil(gap_noise_ns / (0.005 * estimated_ns));
  return static_cast<uint32_t>(std::clamp(calls, 1.0, static_cast<double>(std::max(most, 1u))));
}

}  // namespace fiel::judge
