// Speed of a bare kernel of a native task on a GPU. The task's expression at a benchmark shape set
// becomes a PyTorch module (task/torch_source.h): the oracle's reference, and what the baselines
// run.
//
//   FIEL_TRY_STATUS(time_native(task, request, workers, verdict));     // after `correct`
//   if (…no Python…) not_timed(verdict, "no Python with PyTorch; …");
//
// Where the oracle's own comparison finds an answer wrong that no smaller shape showed, the verdict
// becomes `incorrect`. Whatever cannot be had (PyTorch, memory, a shape that the kernel refuses)
// leaves the verdict as it is, `not_measured` and why: an Error is an interruption.
#pragma once

#include "judge/torch/request.h"
#include "judge/verdict.h"
#include "task/task.h"

namespace fiel::judge::torch {

/// The shape sets that are timed, most work first: those marked `benchmark`; of a choice by
/// --shapes the benchmark sets in it, else all of it; of a task without any the largest.
Result<std::vector<task::Instance>> timed_shapes(const task::Task& task,
                                                 const JudgeOptions& options);

/// The request's task is left to fill: its path, source and domains.
Status time_native(const task::Task& task, const TorchRequest& request, const Workers& workers,
                   Verdict& verdict);

/// A right kernel whose speed is not known, and why.
void not_timed(Verdict& verdict, const std::string& why);

}  // namespace fiel::judge::torch
