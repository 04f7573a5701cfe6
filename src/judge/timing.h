// From samples to times, ratios and decisions.
//
//   Gap gap = gap_of({&eager, &compiled});              // trusted sides
//   credit(kernel, gap, Trust::hostile);                // fills the side's figures
//   Ratio r = ratio_of(kernel, eager);                  // paired by round
//   if (!settled(r) && looks < kMaxLooks) …             // double the rounds
//
// A kernel whose host code runs in a process of ours is credited against a gauge in the same place,
// not against Python runners: gap_of({&gauge}). docs/timing.md#bare-kernels
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

/// What the wall clock needs beside the device time of a call, from sides that are not lying and
/// run as the side does that is credited with it.
struct Gap {
  double median_ns = 0;
  double slack_ns = 0;       ///< 95 % of the trusted samples exceed the median by no more
  double resolution_ns = 0;  ///< half of the median's 99 % interval
  double tail_high_ns = 0;   ///< 95 % of the trusted samples left the device idle as soon as that
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

/// What bounds a batch, beside the time that it takes.
struct BatchLimits {
  bool held = true;           ///< queued before the clock starts (ClockChunk::held)
  uint32_t launches = 1;      ///< of a call, of the side that has the most
  uint64_t slot_bytes = 0;    ///< inputs and outputs of a call, guards included
  uint64_t window_bytes = 0;  ///< for a side's slots, of which there are twice the calls
};
/// A driver queues 1024 launches; an event before and after each call, its outputs' copies and what
/// graphs and libraries launch beside a kernel count too.
inline constexpr uint32_t kQueuedLaunches = 1024, kLaunchesBesideACall = 3;
inline constexpr uint32_t kMostCalls = 256;
/// The most calls of a sample. Not held: 1, since a batch of short kernels would time the host.
uint32_t most_calls(const BatchLimits& limits);

/// Calls a sample: short kernels are timed in batches, so that the gap's noise stays below half a
/// percent of them; at most `most`.
uint32_t calls_for(double estimated_ns, double gap_noise_ns, uint32_t most);

}  // namespace fiel::judge
