// Keeps the verdicts of one `fiel judge` in the store, and knows what to do when it cannot.
//
//   FIEL_TRY(RunKeeper keeper, RunKeeper::begin(plan, context));
//   FIEL_TRY_STATUS(keeper.keep(std::move(evidence)));
//
// A full or read-only disk costs the evidence, not the verdict: a warning on stderr, once. A store
// that stays locked is an error (exit code 3), and so is any failure for a run that the user named:
// they count on it.
#pragma once

#include <optional>
#include <string>

#include "cli/judge_many.h"
#include "store/store.h"

namespace fiel::cli {

class RunKeeper {
 public:
  static Result<RunKeeper> begin(const JudgePlan& plan, const Context& context);
  Status begin_entry(size_t place);
  Status keep(const store::Evidence& evidence);
  /// "done" or "stopped".
  void end(std::string_view state);
  const std::string& name() const { return name_; }  ///< empty: nothing is kept
  int64_t begun_ms() const { return begun_ms_; }

 private:
  explicit RunKeeper(const Context& context) : context_(&context) {}
  Status begin_run(const JudgePlan& plan);
  Status failed(const Error& error);  ///< the rule above

  const Context* context_;
  std::optional<store::Store> store_;
  int64_t run_ = 0, begun_ms_ = 0;
  bool named_ = false;
  std::string name_;
};

/// "20261130-141503-softmax-3f2a": sorts by time, says what it was, and never meets another.
std::string fresh_run_name(const std::string& task, int64_t begun_ms);
/// Milliseconds since 1970.
int64_t now_ms();

}  // namespace fiel::cli
