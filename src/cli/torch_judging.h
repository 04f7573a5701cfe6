// `fiel judge` on a PyTorch task: devices, workers and flags become a request.
//
//   TorchJudging torch(arguments);                       // starts nothing
//   FIEL_TRY(judge::Verdict v, torch.judge(pair, options, isolation));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/judge_many.h"
#include "judge/judge.h"
#include "judge/verdict.h"
#include "task/task.h"

namespace fiel::worker {
class TorchPool;
}

namespace fiel::cli {

/// "virtual", "cpu" or "cuda:N"; "cuda" is cuda:0. Nothing where --device was not given.
Result<std::optional<std::string>> device_of(const Arguments& arguments);

/// The driver's control device is there: without it there is no GPU to ask for.
bool has_gpu();

class TorchJudging {
 public:
  explicit TorchJudging(const Arguments& arguments);
  ~TorchJudging();

  Result<judge::Verdict> judge(const JudgePair& pair, const judge::JudgeRequest& base);
  /// The speed of a bare kernel of a native task, which was found right on cuda:N.
  Status time_native(const task::Task& task, const JudgePair& pair, const judge::JudgeRequest& base,
                     judge::Verdict& verdict);

 private:
  const Arguments& arguments_;
  std::unique_ptr<worker::TorchPool> pool_;
};

std::vector<Flag> torch_judging_flags();

}  // namespace fiel::cli
