// The strict protocol, correctness half: which probes are run in which order, and when it stops.
//
//   Verdict v = …;  FIEL_TRY_STATUS(run_strict(task, starter, options, v));
//
// Cheap shapes first; the first wrong answer ends it and is then made small (judge/minimise.h).
// docs/protocol.md says what each probe is for. It compiles nothing and prints nothing.
#pragma once

#include "base/result.h"
#include "judge/options.h"
#include "judge/rig.h"
#include "judge/verdict.h"
#include "task/task.h"

namespace fiel::judge {

/// Fills status, reason, numerics, witness, probes, findings, void checks, shapes and resources. An
/// Error is ours, or the user's words (unknown shape set): never the kernel's.
Status run_strict(const task::Task& task, const SessionStarter& starter,
                  const JudgeOptions& options, Verdict& verdict);

}  // namespace fiel::judge
