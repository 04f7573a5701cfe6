// Which baselines a judgement may be spared, and whether what is shown instead holds.
//
//   Sparing s = choose_spared(timing, kernel_errors);         // before anything is started
//   …the others are timed beside the kernel…
//   if (auto why = refuted(timing, s.spared, sides, errors)) …measure those anew as well…
//   show_cached(timing, s.spared, now_ms, kernel_errors, measurement);
//
// A baseline is spared where it cannot be what the headline is against: it is clearly less accurate
// than the kernel, or clearly slower than one that is at least as accurate and that is timed again.
// Every baseline that is timed again is a check of drift: one that has moved refutes them all.
// Pure. docs/timing.md#cached-baselines
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/torch/baseline_cache.h"

namespace fiel::judge::torch {

/// How far a cached time may be from the same baseline's time of today, beyond both intervals.
/// A guess until days of one GPU have been compared: too small costs time, too large blurs only
/// what is labelled as cached.
inline constexpr double kDriftTolerance = 0.05;
/// What is slower than this, by the ends of the intervals, is not timed again: both times may have
/// drifted towards each other.
inline constexpr double kHopelessMargin = 2 * kDriftTolerance;
/// Errors of other inputs stand in for errors of the same: within this factor of the border that
/// decides who is comparable, nothing is decided.
inline constexpr double kAdmissionSlack = 2;

struct BaselineName {
  std::string name, policy;
  bool operator==(const BaselineName&) const = default;
};

enum class Admission : uint8_t { yes, unclear, no };
/// Is the baseline at least as accurate as the kernel, told from errors on other inputs?
Admission admission(const std::vector<ProbeError>& kernel, const std::vector<ProbeError>& baseline);

struct Sparing {
  std::vector<BaselineName> spared;
  std::string why;  ///< where there are none
};
Sparing choose_spared(const CachedTiming& timing, const std::vector<ProbeError>& kernel);

/// One side of the measurement that was just made, the kernel left out.
struct LiveBaseline {
  const TimedSide* side = nullptr;
  bool comparable = false;
};
/// Why the cached times do not hold; nothing where they do.
std::optional<std::string> refuted(const CachedTiming& timing,
                                   const std::vector<BaselineName>& spared,
                                   const std::vector<LiveBaseline>& live,
                                   const std::vector<ProbeError>& kernel);

/// Sides and ratios of the spared, labelled; the ratios' intervals hold the drift that may be. The
/// kernel is the first side.
void show_cached(const CachedTiming& timing, const std::vector<BaselineName>& spared,
                 int64_t now_ms, const std::vector<ProbeError>& kernel, Measurement& measurement);

/// Every sixteenth judgement measures all anew, whatever is cached: which one is as secret as the
/// seed.
bool is_audit(uint64_t seed);

}  // namespace fiel::judge::torch
