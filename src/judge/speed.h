// From timed sides to what a verdict says about speed: like against like, physics, the reward.
//
//   ratio.comparable = comparable(errors_of_kernel, errors_of_baseline);
//   choose_headline(measurement);                        // speed and reward
//   measurement.floor = floor_of(work, calibration, numerics, kernel_ns);
//   const std::string why = impossible_time(measurement, cold);  // not empty: timing_invalid
//
// Sides are credited before (judge/timing.h); the kernel's is the first. Pure.
#pragma once

#include <optional>
#include <string>

#include "judge/calibration.h"
#include "judge/measurement.h"

namespace fiel::judge {

/// A baseline is comparable when on no probe its error is more than this many times the kernel's.
inline constexpr double kNearTie = 4;
/// Credited times below this share of the floor are impossible.
inline constexpr double kImpossibleShare = 0.9;
/// What the reward asks a ratio's interval to clear.
inline constexpr double kRewardMargin = 0.05;

/// Errors of one implementation on one probe.
struct ProbeError {
  std::string probe;  ///< with variant and shapes: equal names are the same inputs
  double relative_rms = 0, componentwise = 0;
};

/// Is the baseline at least as accurate as the kernel, near ties counting? Errors below
/// `rounding` (of the output's type) are equal. Probes that only one side has are left out.
bool comparable(const std::vector<ProbeError>& kernel, const std::vector<ProbeError>& baseline,
                double rounding = 0x1p-24, double near_tie = kNearTie);

/// Operations and bytes of the task, the least that any kernel does.
struct TaskWork {
  double bytes = 0, fp32 = 0, tf32able = 0, fp16 = 0, bf16 = 0;
};

/// At the kernel's measured class; nothing where the calibration lacks what is needed.
std::optional<Floor> floor_of(const TaskWork& work, const Calibration& calibration,
                              NumericsClass numerics, double kernel_ns);

/// Chooses the headline among ratios, whose `comparable` is set, and fills speed, why and reward.
/// Sides that are comparable but have no ratio are left out. Cached ratios count for the reward,
/// never as the headline.
void choose_headline(Measurement& measurement);

/// Why the kernel's time cannot be true; empty where it can. Where caches are not `cold` the inputs
/// may come from them, and memory is no floor.
std::string impossible_time(const Measurement& measurement, bool cold);

}  // namespace fiel::judge
