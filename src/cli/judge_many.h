// Judges pairs of a task and a kernel one after the other: prints, exports, keeps, sums up.
//
//   FIEL_TRY(const Arguments all, with_flags_of_run(arguments));
//   FIEL_TRY(const JudgePlan plan, plan_judgements(all));
//   return judge_many(plan, [&](const JudgePair& p, const ProgressFunction& progress) { … },
//   context);
//
// How one pair is judged is the caller's: a bare kernel on the virtual device, a PyTorch task on a
// GPU. An Error of that function ends the batch; what a kernel does is a verdict.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "judge/options.h"
#include "judge/verdict.h"

namespace fiel::cli {

struct JudgePair {
  std::string task, kernel;  ///< paths
};

/// What is to be judged, and with which flags.
struct JudgePlan {
  std::vector<JudgePair> pairs;
  bool several = false;  ///< more than one was asked for: one line each, and a summary
  Arguments arguments;
};

using ProgressFunction = std::function<void(const judge::Progress&)>;
using JudgePairFunction =
    std::function<Result<judge::Verdict>(const JudgePair&, const ProgressFunction&)>;

/// The arguments, completed by those of the run that is resumed.
Result<Arguments> with_flags_of_run(const Arguments& arguments);

/// From the words of the command line. A plan without pairs has nothing to judge.
Result<JudgePlan> plan_judgements(const Arguments& arguments);

/// Prints to context.out; the exit code is the worst of all verdicts.
Result<int> judge_many(const JudgePlan& plan, const JudgePairFunction& judge,
                       const Context& context);

/// The flags that these two understand, for the verb's table.
std::vector<Flag> judge_many_flags();

}  // namespace fiel::cli
