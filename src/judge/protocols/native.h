// The correctness half of another protocol for a native task: its inputs, trials and tolerance at
// one shape, no probe of ours.
//
//   Verdict v = …;  FIEL_TRY_STATUS(run_native(task, rules_of(Protocol::naive), starter, options,
//   v));
//
// What the device finds (races, uninitialised reads, writes beside a tensor) is not looked at: a
// GPU would not say. docs/protocols.md#native-tasks
#pragma once

#include "base/result.h"
#include "judge/options.h"
#include "judge/protocols/protocol.h"
#include "judge/rig.h"
#include "judge/verdict.h"
#include "task/task.h"

namespace fiel::judge {

/// Fills status, reason, witness and opinion.
Status run_native(const task::Task& task, const ProtocolRules& rules, const SessionStarter& starter,
                  const JudgeOptions& options, Verdict& verdict);

}  // namespace fiel::judge
