// One call again, alone and in a fresh process: the one that a witness names.
//
//   options.replay = call_of(witness);     // then judge_kernel() or torch::judge() as ever
//
// Some failures need the calls before them (a cache that is asked again): such a call comes out
// right here, and only the whole judgement with the same seed shows it. Calls whose inputs are
// changed copies of another call's cannot be made alone: replayable() says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "judge/options.h"
#include "judge/replay_call.h"
#include "judge/rig.h"
#include "judge/verdict.h"
#include "task/task.h"

namespace fiel::judge {

ReplayCall call_of(const Witness& witness);
/// Read back from a verdict's JSON; nothing where it has no witness.
std::optional<Witness> read_witness(const Json& verdict);

bool replayable(Probe probe);

/// Of a native task. Fills status, reason and witness.
Status run_replay(const task::Task& task, const ReplayCall& call, const SessionStarter& starter,
                  const JudgeOptions& options, Verdict& verdict);

}  // namespace fiel::judge
