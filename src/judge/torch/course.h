// A judgement of a PyTorch task under way: the candidate is called through it, and everything that
// is seen goes into the verdict.
//
//   TorchCourse course(oracle, workers, request, verdict);
//   FIEL_TRY(bool go_on, course.load());
//   FIEL_TRY(go_on, course.check(c, {}, result));     // false: decided, or refused at this shape
//
// An Error is ours or the task author's, never the candidate's.
#pragma once

#include <future>
#include <memory>
#include <set>
#include <string>

#include "judge/compiled.h"
#include "judge/speed.h"
#include "judge/torch/answers.h"
#include "judge/torch/fault.h"
#include "judge/torch/request.h"
#include "judge/torch/side.h"
#include "judge/verdict.h"

namespace fiel::judge::torch {

class TorchCourse {
 public:
  TorchCourse(OracleSide& oracle, const Workers& workers, const TorchRequest& request,
              Verdict& verdict)
      : oracle_(oracle), workers_(workers), request_(request), verdict_(verdict) {}

  /// A bare kernel, which compiles meanwhile; load() waits for it.
  void expect(std::future<Result<Compiled>> compiled) { compiling_ = std::move(compiled); }

  /// Starts the candidate's process and loads its module or kernel. False: decided.
  Result<bool> load();
  /// A bare kernel again in a process of its own, under checks that cost more. Weights are to be
  /// given anew. False where a session cannot have them.
  Result<bool> restart(const SessionWish& wish);
  /// Gives the case's weights, calls, compares. False: decided, or refused at this shape.
  Result<bool> check(const Case& c, const Slots& slots, ProbeResult& result);
  void finish(ProbeResult result);
  /// After the last answer: replies that the candidate's process wrote ahead make it tampering.
  Status confirm();

  bool decided() const { return decided_; }
  bool refused(const std::string& shape_set) const;
  bool unmatched() const { return !unmatched_.empty(); }
  const Errors& errors() const { return errors_; }
  /// Of the first answer to each probe at the task's own shapes.
  const std::vector<ProbeError>& probe_errors() const { return probe_errors_; }
  /// Ends its process: nothing of it runs after this.
  void dismiss() { candidate_.reset(); }
  Side& candidate() { return *candidate_; }
  bool is_bare() const { return compiled_.has_value(); }
  double setup_ms() const { return setup_ms_; }
  double waited_s() const { return oracle_.turn().waited_s(); }
  bool ran_out_of_memory() const { return out_of_memory_; }  ///< a side, beside others
  /// Beside others on the GPU their memory may be what was lacking: it is tried again alone.
  void lacked_memory() { out_of_memory_ = !oracle_.turn().alone(); }
  Status poll(const std::string& what);
  /// The order in which the virtual GPU runs blocks and warps from now on.
  void set_schedule(const vgpu::Schedule& schedule) { schedule_ = schedule; }
  /// Whether it fuses mul + add from now on; none: as its session began.
  void set_contract(std::optional<vgpu::Contract> contract) { contract_ = contract; }
  /// The last call of a bare kernel that was made while outputs were kept.
  const Call& last_seen() const { return last_seen_; }
  void keep_outputs(bool keep) { keep_outputs_ = keep; }
  void expect_steps(uint32_t steps) { total_steps_ += steps; }

  void decide(VerdictStatus status, std::string reason);
  void note(FindingRecord finding);

  OracleSide& oracle() { return oracle_; }
  const TorchRequest& request() const { return request_; }
  const Workers& workers() const { return workers_; }
  Verdict& verdict() { return verdict_; }

 private:
  Result<bool> load_module();
  Result<bool> load_bare();
  Result<bool> give_weights(const Case& c);
  void keep_unmatched(const worker::CopiedWeights& copied);
  Result<bool> fault(const worker::WorkerFault& f, Stage stage, const Case* c);
  Result<bool> seen(const Case& c, const Call& call, int64_t timeout_ms);
  bool refusal(const Case& c);
  void broke(const Case& c, const Fault& fault);
  Witness witness_of(const Case& c, std::string note) const;
  size_t inputs_of(const Case& c) const;
  CallOptions options_for(const Case& c, const Slots& slots) const;
  Result<bool> compare(const Case& c, const Input& input, const worker::CalledModule& called,
                       ProbeResult& result);
  worker::Answer<Json> state_after(const Input& input);
  void keep_errors(const Case& c, const worker::Verified& seen);
  void wrong(JudgedAnswer answer);
  void note_of_preparation(const Case& c);
  void note_strides(const Case& c, const worker::Verified& seen);

  OracleSide& oracle_;
  const Workers& workers_;
  const TorchRequest& request_;
  Verdict& verdict_;
  std::unique_ptr<TempDir> stage_;  ///< the files that the candidate sees
  bool out_of_memory_ = false;
  std::future<Result<Compiled>> compiling_;
  std::optional<Compiled> compiled_;  ///< of a bare kernel
  vgpu::Schedule schedule_;           ///< of the next calls
  std::optional<vgpu::Contract> contract_;
  bool keep_outputs_ = false;
  Call last_seen_;
  std::unique_ptr<Side> candidate_;
  bool decided_ = false, has_weights_ = true, weights_known_ = false;
  std::optional<uint64_t> weights_given_;
  std::vector<worker::UnmatchedWeight> unmatched_;
  std::set<std::string> answered_;  ///< shape sets
  Errors errors_;
  std::vector<ProbeError> probe_errors_;
  size_t weights_count_ = 0;
  double setup_ms_ = 0;
  uint32_t steps_ = 0, total_steps_ = 0;
};

ProbeResult blank(Probe probe, const std::string& shape_set);
std::string shape_set_of(const Case& c);

}  // namespace fiel::judge::torch
