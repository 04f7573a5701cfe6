// One call of a PyTorch task again, in a fresh process: judge/replay.h.
#pragma once

#include "judge/replay_call.h"
#include "judge/torch/course.h"

namespace fiel::judge::torch {

Status run_replay(TorchCourse& course, const ReplayCall& call);

}  // namespace fiel::judge::torch
