#include "judge/judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "judge/compiled.h"
#include "judge/environment.h"
#include "judge/protocols/native.h"
#include "judge/replay.h"
#include "judge/strict.h"
#include "judge/time_limit.h"
#include "judge/torch/gpu_turn.h"

namespace fiel::judge {
namespace {

Verdict blank_verdict(const task::Task& task, const std::string& kernel_path,
                      const JudgeRequest& request) {
  Verdict v;
  v.task = task.name;
  v.task_file = task.source_file;
  v.task_digest = task.digest;
  v.kernel = printable(kernel_path, 1000);
  v.protocol = std::string(name_of(request.options.protocol));
  v.seed = request.options.seed;
  v.numerics_policy = std::string(name_of(request.options.numerics));
  v.device = device::to_string(request.device);
  v.environment = describe_environment();
  return v;
}

/// What a fault of ours, met while judging, makes of the verdict. Interruptions and the user's own
/// mistakes are not faults.
Result<Verdict> settle(const Error& error, Verdict v) {
  if (error.code == ErrorCode::interrupted || error.code == ErrorCode::usage) return fail(error);
  v.witness.reset();
  if (error.code == ErrorCode::unsupported) {
    v.status = VerdictStatus::unsupported;
    v.unsupported_by = "device";
    v.reason = printable(error.what, 600);
    return v;
  }
  v.status =
      error.code == ErrorCode::timeout ? VerdictStatus::undecided : VerdictStatus::harness_fault;
  v.reason = printable(to_string(error), 600);
  return v;
}

/// Calls of this judgement and of others run side by side on a GPU; while somebody times, none do.
/// Between calls those who wait are let in, and the time that it takes is nobody's.
class Turns {
 public:
  static Result<std::unique_ptr<Turns>> take(const JudgeRequest& request, const Compiled& compiled,
                                             JudgeOptions& options) {
    auto turns = std::unique_ptr<Turns>(new Turns);
    if (compiled.gpu_memory_bytes == 0) return turns;
    FIEL_TRY(turns->turn_, torch::GpuTurn::open(request.locks, compiled.gpu.device_uuid,
                                                request.options.interrupted, options.limit));
    FIEL_TRY_STATUS(turns->turn_->live(torch::Share::shared));
    FIEL_TRY_STATUS(turns->turn_->take(torch::Share::shared));
    torch::GpuTurn& turn = *turns->turn_;
    options.interrupted = [&turn, before = request.options.interrupted] {
      (void)turn.yield();
      return before && before();
    };
    return turns;
  }

 private:
  Turns() = default;
  std::optional<torch::GpuTurn> turn_;
};

}  // namespace

Result<Verdict> judge_sessions(const task::Task& task, const SessionStarter& starter,
                               const JudgeOptions& options, Verdict verdict) {
  const bool strict = options.protocol == Protocol::strict;
  const auto done = !strict
                        ? run_native(task, rules_of(options.protocol), starter, options, verdict)
                    : options.replay ? run_replay(task, *options.replay, starter, options, verdict)
                                     : run_strict(task, starter, options, verdict);
  if (!done) return settle(done.error(), std::move(verdict));
  return verdict;
}

Result<Verdict> judge_kernel(const task::Task& task, const std::string& kernel_path,
                             const JudgeRequest& given) {
  JudgeRequest request = given;
  request.options.limit = begin_limit(given.options);
  Verdict v = blank_verdict(task, kernel_path, request);
  JudgeOptions options = request.options;
  if (options.progress) options.progress({"compiling " + v.kernel, 0, 0});
  const auto compiled = compile_candidate(kernel_path, request);
  if (!compiled) return settle(compiled.error(), std::move(v));
  describe(*compiled, v);
  if (!compiled->start) return v;
  options.gpu_memory_bytes = compiled->gpu_memory_bytes;
  const auto turns = Turns::take(request, *compiled, options);
  if (!turns) return settle(turns.error(), std::move(v));
  return judge_sessions(task, compiled->start, options, std::move(v));
}

}  // namespace fiel::judge
