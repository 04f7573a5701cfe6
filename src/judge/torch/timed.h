// Speed of a kernel that was found right: baselines in trusted processes, all sides under the
// oracle's clock, interleaved.
//
//   FIEL_TRY_STATUS(measure(course, std::move(baselines)));  // fills the verdict's measurement
//
// A baseline that cannot be had is listed with the reason. A timed answer that is wrong makes the
// verdict `incorrect`; a time below the physics floor `timing_invalid`. A machine that cannot be
// timed takes nothing from a kernel that was found right: an Error is an interruption.
#pragma once

#include "judge/torch/contestants.h"

namespace fiel::judge::torch {

Status measure(TorchCourse& course, std::vector<Contestant> baselines);

}  // namespace fiel::judge::torch
