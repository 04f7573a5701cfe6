#include "judge/torch/judge_torch.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <future>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "judge/environment.h"
#include "judge/protocols/torch.h"
#include "judge/time_limit.h"
#include "judge/torch/accounts.h"
#include "judge/torch/attempt.h"
#include "judge/torch/course.h"
#include "judge/torch/replay.h"
#include "judge/torch/stopping.h"
#include "judge/torch/strict.h"
#include "judge/torch/task_check.h"
#include "judge/torch/timed.h"
#include "kernel/work_folder.h"

namespace fiel::judge::torch {
namespace {

/// Of a file's bytes, or of a work folder's names and bytes.
Result<std::string> digest_of(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return kernel::work_folder_digest(path);
  FIEL_TRY(const std::string source, read_file(path, 16u << 20));
  return sha256_hex(source);
}

Result<Verdict> blank_verdict(const TorchRequest& request) {
  Verdict v;
  v.task_file = request.shown_task.empty() ? request.task_path : request.shown_task;
  v.protocol = std::string(judge::name_of(request.options.protocol));
  v.device = request.device;
  v.seed = request.options.seed;
  v.numerics_policy = std::string(judge::name_of(request.options.numerics));
  v.environment = describe_environment();
  if (request.kernel_path.empty()) {
    v.kernel = "the reference itself";
    return v;
  }
  v.kernel = printable(request.kernel_path, 1000);
  FIEL_TRY(v.kernel_digest, digest_of(request.kernel_path));
  return v;
}

void describe(const OracleSide& oracle, Verdict& v) {
  v.task = printable(oracle.task().name, 200);
  v.task_digest = oracle.task().digest;
  describe_machine(oracle.machine(), v.device != "virtual", v.environment);
}

Status judge_into(const TorchRequest& request, const Workers& workers, Attempt& attempt,
                  Verdict& v) {
  std::future<Result<Compiled>> compiling;  // beside PyTorch, whose import takes as long
  if (request.is_bare()) compiling = std::async(std::launch::async, workers.compile);
  FIEL_TRY(auto oracle, OracleSide::open(workers, request, attempt.room));
  describe(*oracle, v);
  if (attempt.lacks_room(*oracle)) return {};
  FIEL_TRY(const bool judgeable, check_task(*oracle, request, v));
  if (!judgeable) return {};
  TorchCourse course(*oracle, workers, request, v);
  course.expect(std::move(compiling));
  if (request.options.replay) return run_replay(course, *request.options.replay);
  std::vector<Contestant> baselines;
  if (request.time_budget_ms > 0) baselines = start_baselines(request, *oracle, workers);
  FIEL_TRY_STATUS(run_strict(course));
  FIEL_TRY_STATUS(course.confirm());
  const double n = static_cast<double>(v.resources.calls_compared);
  if (v.status == VerdictStatus::correct && request.time_budget_ms > 0)
    FIEL_TRY_STATUS(measure(course, std::move(baselines)));
  v.missed_fraction = n > 0 ? 1 - std::pow(0.05, 1 / n) : 1;
  attempt.out_of_memory = course.ran_out_of_memory();
  return {};
}

/// What a fault of ours makes of the verdict. Interruptions and the user's mistakes are not faults.
Result<Verdict> settle(const Error& error, Verdict v) {
  if (error.code == ErrorCode::interrupted || error.code == ErrorCode::usage) return fail(error);
  v.witness.reset();
  const bool unsupported = error.code == ErrorCode::unsupported;
  v.status = unsupported ? VerdictStatus::unsupported : VerdictStatus::harness_fault;
  if (unsupported) v.unsupported_by = "device";
  if (error.code == ErrorCode::timeout || is_out_of_memory(error))
    v.status = VerdictStatus::undecided;
  v.reason = printable(words_of(error, v), 600);
  return v;
}

}  // namespace

Status TorchRequest::check_device() const {
  if (on_virtual() && !is_bare())
    return fail(ErrorCode::usage, "a Python module runs in PyTorch, not on the virtual device",
                "--device cpu or --device cuda:0");
  if (device == "cpu" && is_bare())
    return fail(ErrorCode::usage, "a bare kernel runs on the virtual device or a GPU",
                "--device virtual or --device cuda:0");
  return {};
}

std::string_view name_of(Track track) {
  static constexpr std::string_view names[] = {"any", "own", "libraries"};
  return names[static_cast<size_t>(track)];
}

std::string_view name_of(Timing timing) {
  static constexpr std::string_view names[] = {"cold", "warm", "graph"};
  return names[static_cast<size_t>(timing)];
}

std::string_view name_of(BaselineCacheWish::Mode mode) {
  static constexpr std::string_view names[] = {"use", "refresh", "off"};
  return names[static_cast<size_t>(mode)];
}

Result<Verdict> judge(const TorchRequest& asked, const Workers& given) {
  TorchRequest request = asked;
  request.options.limit = begin_limit(asked.options);
  const Workers workers = stoppable(given, request.options);
  FIEL_TRY(Verdict v, blank_verdict(request));
  const Protocol protocol = request.options.protocol;
  if (request.is_bare() && protocol != Protocol::strict)
    return fail(ErrorCode::usage, "other protocols judge Python modules, not bare kernels",
                "--protocol strict");
  const Verdict blank = v;
  const Status done = where_it_fits(request.torch_device() != "cpu", [&](Attempt& attempt) {
    v = blank;
    return protocol == Protocol::strict ? judge_into(request, workers, attempt, v)
                                        : run_protocol(rules_of(protocol), request, workers, v);
  });
  FIEL_TRY_STATUS(not_stopped(request.options));
  if (!done) return settle(or_limit(request.options, done).error(), std::move(v));
  note_unjudged_track(request, v);
  return v;
}

}  // namespace fiel::judge::torch
