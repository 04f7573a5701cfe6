// A bare kernel of ours in the place of the candidate's: what the clock takes beside a kernel's
// device time, seen where the candidate is seen.
//
//   std::optional<Contestant> gauge = start_gauge(course);     // none: the baselines' gap
//
// It has a device process and a sandboxed host process of its own, the same slots and the same
// turns; it fills its outputs and reads nothing. Never in the candidate's device process: whose
// device code could write over its events, and so make the gap as large as it likes.
// docs/timing.md#bare-kernels
#pragma once

#include <optional>

#include "judge/torch/contestants.h"

namespace fiel::judge::torch {

/// Compiled as the candidate is.
Result<Compiled> compile_gauge(const JudgeRequest& request);

/// Of a bare kernel on a GPU. Nothing for other candidates; one that cannot be had is not present()
/// and says why.
std::optional<Contestant> start_gauge(TorchCourse& course);

}  // namespace fiel::judge::torch
