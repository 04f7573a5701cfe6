// One subject and its mutants: compiles each, looks for a witness, asks every protocol.
//
//   FIEL_TRY(TaskBench shared, TaskBench::open("tasks/softmax.toml", options));   // a task's
//   kernels FIEL_TRY(Trial trial, Trial::open(shared, subject, options)); if
//   (trial.record().unfit.empty()) FIEL_TRY(MutantRecord r, trial.run(mutant));
//
// An Error is ours (no compiler, no sandbox, interrupted): a mutant cannot cause one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/files.h"
#include "judge/compiled.h"
#include "judge/groundwork.h"
#include "judge/judge.h"
#include "mutate/record.h"
#include "mutate/witness.h"

namespace fiel::mutate {

struct TrialOptions {
  judge::JudgeRequest request;  ///< the seed of every judgement, limits, isolation
  WitnessOptions witness;
};

/// What strict at --budget quick is called among the opinions.
inline constexpr std::string_view kStrictQuick = "strict-quick";

/// What all kernels of a task share: inputs, and what the reference says to them.
struct TaskBench {
  task::Task task;
  std::shared_ptr<judge::Groundwork> quick, standard;
  WitnessInputs inputs;

  static Result<std::unique_ptr<TaskBench>> open(const std::string& task_file,
                                                 const TrialOptions& options);
};

class Trial {
 public:
  static Result<Trial> open(const TaskBench& shared, const Subject& subject,
                            const TrialOptions& options);

  const SubjectRecord& record() const { return record_; }
  const std::vector<Mutant>& mutants() const { return mutants_; }
  Result<MutantRecord> run(const Mutant& mutant) const;

 private:
  Trial(const TaskBench& shared, const TrialOptions& options, TempDir folder)
      : shared_(&shared), options_(options), folder_(std::move(folder)) {}
  Status look_at_original();
  Result<judge::Compiled> compile(const std::string& text) const;
  Result<judge::Verdict> ask(const judge::SessionStarter& start, judge::Protocol protocol,
                             judge::Effort effort) const;
  Status ask_protocols(const judge::SessionStarter& start, MutantRecord& record) const;
  Status ask_strict(const judge::SessionStarter& start, MutantRecord& record) const;

  const TaskBench* shared_;
  TrialOptions options_;
  TempDir folder_;
  std::string name_, source_, code_;  ///< file name, text, what the compiler made of it
  SubjectRecord record_;
  std::vector<Mutant> mutants_;
  std::optional<WitnessSearch> search_;
};

/// The instructions of a PTX file, without what only says where they come from.
std::string code_of(std::string_view ptx);

}  // namespace fiel::mutate
