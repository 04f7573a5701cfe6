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

/// Before any candidate runs: can the task tell right from wrong? False: the verdict is task_void.
Result<bool> check_task(OracleSide& oracle, const TorchRequest& request, Verdict& verdict);

/// Loads the candidate and tries it.
Status run_strict(TorchCourse& course);

}  // namespace fiel::judge::torch
