// One task and one kernel to a verdict: what the words of a command line ask for, of whichever
// carrier and device.
//
//   FIEL_TRY(PairJudging judging, PairJudging::create(arguments, context));
//   FIEL_TRY(judge::Verdict v, judging.judge(pair, progress));
//   FIEL_TRY(v, judging.judge(pair, progress, judge::Protocol::naive));       // another's rules
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/judge_many.h"
#include "cli/torch_judging.h"
#include "judge/judge.h"
#include "task/task.h"

namespace fiel::cli {

class PairJudging {
 public:
  /// `arguments` outlive it. Flags of `fiel judge`; what is not there has its default.
  static Result<PairJudging> create(const Arguments& arguments, const Context& context);

  Result<judge::Verdict> judge(const JudgePair& pair, const ProgressFunction& progress);
  Result<judge::Verdict> judge(const JudgePair& pair, const ProgressFunction& progress,
                               judge::Protocol protocol);
  /// One call alone: judge/replay.h.
  Result<judge::Verdict> replay(const JudgePair& pair, const ProgressFunction& progress,
                                const judge::ReplayCall& call);
  const judge::JudgeRequest& request() const { return request_; }

 private:
  PairJudging(const Arguments& arguments, judge::JudgeRequest request);
  Result<judge::Verdict> judge_native(const JudgePair& pair);
  Result<const task::Task*> load(const std::string& path);

  const Arguments* arguments_;
  judge::JudgeRequest request_;
  std::unique_ptr<TorchJudging> torch_;
  std::string path_;  ///< of the task that is loaded: kernels of one task usually follow each other
  std::optional<task::Task> task_;
};

}  // namespace fiel::cli
