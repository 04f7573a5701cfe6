// The state of one judgement under way: calls are made and checked through it, and everything it
// sees goes into the verdict.
//
//   Course course(task, starter, options, verdict);
//   FIEL_TRY(bool go_on, course.check_call(*rig, shape, prepared, call_options));
//   if (!go_on) …                                   // the verdict is decided
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "judge/groundwork.h"
#include "judge/options.h"
#include "judge/prepared.h"
#include "judge/rig.h"
#include "judge/shapes.h"
#include "judge/verdict.h"

namespace fiel::judge {

/// What comparison may let pass for tasks that multiply matrices.
NumericsClass lowest_class(NumericsPolicy policy);

/// A probe at a shape before its first call.
ProbeResult blank(const PlannedShape& shape, Probe probe);

class Course {
 public:
  Course(const task::Task& task, const SessionStarter& starter, const JudgeOptions& options,
         Verdict& verdict);

  /// Calls the kernel on a prepared input and judges the answer. False: decided, or refused here.
  Result<bool> check_call(Rig& rig, const PlannedShape& shape, const Preparation& prepared,
                          const CallOptions& call_options, ProbeResult& result);

  /// Judges one call's outputs; what it changes in the verdict is the same as check_call.
  Result<bool> judge_outputs(const Call& call, const PlannedShape& shape,
                             const Preparation& prepared, ProbeResult& result);

  /// A survey goes on after a failure: what was decided first is kept for close_survey(). False
  /// where it may not.
  bool reopen();
  bool failed_before() const { return first_.has_value(); }
  /// The verdict is the first failure's.
  void close_survey();

  /// Input sets under a name that is their own in this judgement; made once where judgements share.
  Result<std::vector<Preparation>> inputs(const PlannedShape& shape, Probe probe, uint32_t part,
                                          const Groundwork::Make& make);

  /// A finding of which one occurrence is told.
  void note_once(FindingRecord finding);

  /// One probe more that a kernel is believed on, or the reason why not.
  void finish(ProbeResult result);

  bool decided() const { return decided_; }
  bool refused(const std::string& shape_set) const;
  const Call& last_call() const { return last_; }
  const Preparation* failed() const { return failed_ ? &*failed_ : nullptr; }

  /// Progress; fails when the user has stopped us (interrupted) or the time is up (timeout).
  Status poll(const std::string& what);
  int64_t left_ms() const;  ///< of the judgement's time; negative when it is up
  void expect_steps(uint32_t steps) { total_steps_ += steps; }

  const task::Task& task() const { return task_; }
  const SessionStarter& starter() const { return starter_; }
  const JudgeOptions& options() const { return options_; }
  Verdict& verdict() { return verdict_; }

 private:
  void decide(VerdictStatus status, std::string reason, const PlannedShape& shape,
              const Preparation& prepared, uint64_t call);
  void keep(const Call& call);
  void add_finding(FindingRecord finding);
  Result<bool> wrong(const Call& call, const PlannedShape& shape, const Preparation& prepared,
                     size_t output, const fiel::Comparison& comparison);
  /// A refusal where an answer was given before: it depends on more than the shape.
  bool refused_late(const PlannedShape& shape, const Preparation& prepared);
  Status note_stale(const Call& call, const PlannedShape& shape, Probe probe);

  const task::Task& task_;
  const SessionStarter& starter_;
  const JudgeOptions& options_;
  Verdict& verdict_;
  std::shared_ptr<TimeLimit> limit_;
  bool decided_ = false;
  struct Decision {
    VerdictStatus status;
    std::string reason, unsupported_by;
    std::optional<Witness> witness;
  };
  std::optional<Decision> first_;  ///< of a survey
  Call last_;
  std::optional<Preparation> failed_;
  std::set<std::string> answered_;  ///< shape sets
  struct Past {
    uint64_t call;
    std::shared_ptr<const Expectation> expectation;
  };
  std::deque<Past> history_;  ///< answers to the latest calls: what a cache would replay
  uint32_t steps_ = 0, total_steps_ = 0;
};

}  // namespace fiel::judge
