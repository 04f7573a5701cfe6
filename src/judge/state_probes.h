// Probes about memory and repetition: is the answer computed from what is in the buffers now?
// Each returns false when the verdict is decided (or the kernel refused the shape).
#pragma once

#include <vector>

#include "base/result.h"
#include "judge/course.h"

namespace fiel::judge {

inline constexpr uint32_t kStateSteps = 24;  ///< calls of the two functions below, about

/// same-address, new-address, one-element, weights-in-place, guard-bands, in this order; each
/// leaves the buffers exactly placed.
using StateProbe = Result<bool> (*)(Course& course, Rig& rig, const PlannedShape& shape);
const std::vector<StateProbe>& state_probes();

/// Many calls on fresh data at a small shape, each compared in full: right ten times is not right.
Result<bool> run_repeated_calls(Course& course, Rig& rig, const PlannedShape& shape,
                                uint32_t calls);

/// The same input under several orders of blocks and warps, in a process of its own with the
/// checker of global races on and mul + add contracted, as ptxas may; once more without, to say
/// whether that changes the output's bits.
Result<bool> run_schedules(Course& course, const PlannedShape& shape);

}  // namespace fiel::judge
