// Judges a kernel for a PyTorch task: oracle, candidate, probes, then time.
//
//   FIEL_TRY(judge::Verdict v, judge::torch::judge(request, workers));
//
// Whatever the kernel does becomes a verdict. An Error is the user's words, the task file, or an
// interruption; faults of the machine are verdicts too (harness_fault).
#pragma once

#include "judge/torch/request.h"
#include "judge/verdict.h"

namespace fiel::judge::torch {

Result<Verdict> judge(const TorchRequest& request, const Workers& workers);

}  // namespace fiel::judge::torch
