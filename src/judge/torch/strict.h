// The strict protocol for a PyTorch task: which input sets are tried in which order, and when it
// stops.
//
//   FIEL_TRY_STATUS(run_strict(course));     // fills the verdict; decided or `correct`
//
// The telling probes come first; what the budget does not allow is listed as skipped.
// docs/protocol.md
#pragma once

#include "judge/torch/course.h"

namespace fiel::judge::torch {

/// Loads the candidate and tries it.
Status run_strict(TorchCourse& course);

}  // namespace fiel::judge::torch
