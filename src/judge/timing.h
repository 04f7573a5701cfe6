// From samples to times, ratios and decisions.
//
//   Gap gap = gap_of({&eager, &compiled});              // trusted sides
//   credit(kernel, gap, Trust::hostile);                // fills the side's figures
//   Ratio r = ratio_of(kernel, eager);                  // paired by round
//   if (!settled(r) && looks < kMaxLooks) …             // double the rounds
//
// Pure functions of the samples: the same samples give the same bytes. docs/timing-statistics.md
// says why each number is what it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "judge/intervals.h"
#include "judge/measurement.h"

namespace fiel::judge {

/// Two processes that run the same program agree no better than this: a ratio inside counts as
/// same.
inline constexpr double kSameMargin = 0.01;
/// A sample below this share of the median SM clock is set aside.
inline constexpr double kClockShare = 0.75;
/// NVML's reasons that make a sample unusable: hardware slowdown, thermal and power brake, software
/// thermal. Not the power cap: a GPU under full load is at it.
inline constexpr uint64_t kThrottleReasons = 0x8 | 0x20 | 0x40 | 0x80;

/// What the wall clock needs beside the device time of a call, from sides that are not lying.
struct Gap {
  double median_ns = 0;
  double slack_ns = 0;       ///< 95 % of the trusted samples exceed the median by no more
  double resolution_ns = 0;  ///< half of the median's 99 % interval
  size_t samples = 0;
};
Gap gap_of(std::span<const TimedSide* const> trusted);

enum class Trust : uint8_t {
  trusted,  ///< its device times are believed
  hostile,  ///< never credited less than the judge's clock allows
};

/// The credited time of a sample, a call.
double credited_ns(const TimeSample& sample, uint32_t calls, const Gap& gap, Trust trust,
                   bool believed = true);

/// Marks samples under throttling (TimeSample::set_aside), fills medians, interval, gap and
/// `events_believed` of the side.
void credit(TimedSide& side, const Gap& gap, Trust trust);

/// Both sides credited before. Unbounded while fewer than eight rounds hold both.
Ratio ratio_of(const TimedSide& kernel, const TimedSide& baseline);

/// Faster, same or slower where the whole interval is; else ambiguous.
SpeedDecision decide(const Interval& ratio);
bool settled(const Ratio& ratio);

/// Rounds of the look after one with `rounds`: the double, from 12 on.
uint32_t next_rounds(uint32_t rounds);

/// Calls a sample: short kernels are timed in batches, so that the gap's noise stays below half a
/// percent; at most `most`.
uint32_t calls_for(double estimated_ns, double gap_noise_ns, uint32_t most);

}  // namespace fiel::judge
