// A judgement of a PyTorch task under way: the candidate is called through it, and everything that
// is seen goes into the verdict.
//
//   TorchCourse course(oracle, workers, request, verdict);
//   FIEL_TRY(bool go_on, course.load());
//   FIEL_TRY(go_on, course.check(c, {}, result));     // false: decided, or refused at this shape
//
// An Error is ours or the task author's, never the candidate's.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "judge/torch/answers.h"
#include "judge/torch/fault.h"
#include "judge/torch/request.h"
#include "judge/torch/sides.h"
#include "judge/verdict.h"

namespace fiel::judge::torch {

/// The shape set of the task's own inputs.
inline constexpr const char* kGivenShapes = "given";

class TorchCourse {
 public:
  TorchCourse(OracleSide& oracle, const Workers& workers, const TorchRequest& request,
              Verdict& verdict)
      : oracle_(oracle), workers_(workers), request_(request), verdict_(verdict) {}

  /// Starts the candidate's process and loads its module. False: decided.
  Result<bool> load();
  /// Gives the case's weights, calls, compares. False: decided, or refused at this shape.
  Result<bool> check(const Case& c, const Slots& slots, ProbeResult& result);
  void finish(ProbeResult result);

  bool decided() const { return decided_; }
  bool refused(const std::string& shape_set) const;
  bool unmatched() const { return !unmatched_.empty(); }
  const Errors& errors() const { return errors_; }
  RunnerSide& candidate() { return *candidate_; }
  double setup_ms() const { return setup_ms_; }
  double waited_s() const { return oracle_.turn().waited_s(); }
  bool ran_out_of_memory() const { return out_of_memory_; }  ///< the kernel, beside others
  Status poll(const std::string& what);
  void expect_steps(uint32_t steps) { total_steps_ += steps; }

  void decide(VerdictStatus status, std::string reason);
  void note(FindingRecord finding);

  OracleSide& oracle() { return oracle_; }
  const TorchRequest& request() const { return request_; }
  Verdict& verdict() { return verdict_; }

 private:
  Result<bool> give_weights(const Case& c);
  void keep_unmatched(const worker::CopiedWeights& copied);
  bool fault(const worker::WorkerFault& f, Stage stage, const Case* c);
  Result<bool> compare(const Case& c, const Input& input, const worker::CalledModule& called,
                       ProbeResult& result);
  Json state_after(const Input& input);
  void wrong(JudgedAnswer answer);
  void note_of_preparation(const Case& c);

  OracleSide& oracle_;
  const Workers& workers_;
  const TorchRequest& request_;
  Verdict& verdict_;
  std::unique_ptr<TempDir> stage_;  ///< the files that the candidate sees
  std::unique_ptr<RunnerSide> candidate_;
  bool out_of_memory_ = false;
  bool decided_ = false, has_weights_ = true, weights_known_ = false;
  std::optional<uint64_t> weights_given_;
  std::vector<worker::UnmatchedWeight> unmatched_;
  std::set<std::string> answered_;  ///< shape sets
  Errors errors_;
  double setup_ms_ = 0;
  uint32_t steps_ = 0, total_steps_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The whole judgement took longer than it may: undecided, no fault of anyone.
inline constexpr const char* kTimeLimitReached = "the time limit of the judgement was reached";

ProbeResult blank(Probe probe, const std::string& shape_set);
std::string shape_set_of(const Case& c);

}  // namespace fiel::judge::torch
