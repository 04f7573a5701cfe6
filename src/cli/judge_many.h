// Judges pairs of a task and a kernel one after the other: prints, keeps, exports, sums up.
//
//   FIEL_TRY(const Arguments all, with_flags_of_run(arguments));
//   FIEL_TRY(const JudgePlan plan, plan_judgements(all, context));
//   return judge_many(plan, [&](const JudgePair& p, const ProgressFunction& progress) { … },
//   context);
//
// How one pair is judged is the caller's: a bare kernel on the virtual device, a PyTorch task on a
// GPU. What a kernel does is a verdict. An Error of that function ends the batch where one task was
// named; where many were paired it becomes that pair's harness_fault and the batch goes on.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "judge/options.h"
#include "judge/verdict.h"
#include "store/store.h"

namespace fiel::cli {

/// `task` and `kernel` are paths.
using JudgePair = store::Entry;

/// What is to be judged, and with which flags.
struct JudgePlan {
  std::vector<JudgePair> pairs;
  bool several = false;   ///< more than one was asked for: one line each, and a summary
  bool campaign = false;  ///< tasks are many too
  Arguments arguments;
  std::map<size_t, store::Evidence> done;  ///< of a resumed run, by place
  std::vector<size_t> order;               ///< of what is left of it; empty: all, by place
};

using ProgressFunction = std::function<void(const judge::Progress&)>;
using JudgePairFunction =
    std::function<Result<judge::Verdict>(const JudgePair&, const ProgressFunction&)>;

/// The arguments, completed by those of the run that is resumed.
Result<Arguments> with_flags_of_run(const Arguments& arguments);

/// From the words of the command line. A plan without pairs has nothing to judge.
Result<JudgePlan> plan_judgements(const Arguments& arguments, const Context& context);

/// Prints to context.out; the exit code is the worst of all verdicts, 130 where it was stopped.
Result<int> judge_many(const JudgePlan& plan, const JudgePairFunction& judge,
                       const Context& context);

/// The flags that these understand, for the verb's table.
std::vector<Flag> judge_many_flags();
extern const char* const kJudgeManyHelp;

}  // namespace fiel::cli
