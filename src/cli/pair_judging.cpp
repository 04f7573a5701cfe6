#include "cli/pair_judging.h"

#include <sys/random.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "judge/environment.h"
#include "judge/time_limit.h"

namespace fiel::cli {
namespace {

Result<uint64_t> choose_seed(const Arguments& arguments) {
  if (arguments.has("--seed")) return unsigned_value(arguments, "--seed", 0, UINT64_MAX);
  uint64_t seed = 0;
  // Secret until the verdict is out: a kernel cannot know the inputs it will be given.
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
    return fail(ErrorCode::io, "the system gives no random seed", "choose one with --seed");
  return seed;
}

Result<judge::JudgeRequest> request_of(const Arguments& arguments, const Context& context) {
  judge::JudgeRequest request;
  FIEL_TRY(request.options.seed, choose_seed(arguments));
  FIEL_TRY(const auto device, device_of(arguments));
  if (device && *device != "cpu") {
    FIEL_TRY(request.device, device::parse_device_name(*device));
  }
  FIEL_TRY(const std::string protocol,
           word_value(arguments, "--protocol", judge::protocol_names(), "strict"));
  request.options.protocol = *judge::parse_protocol(protocol);
  FIEL_TRY(const std::string effort,
           word_value(arguments, "--budget", {"quick", "standard", "thorough"}, "standard"));
  request.options.effort = effort == "quick"      ? judge::Effort::quick
                           : effort == "standard" ? judge::Effort::standard
                                                  : judge::Effort::thorough;
  FIEL_TRY(const std::string numerics,
           word_value(arguments, "--numerics", {"fp32", "tf32", "any"}, "tf32"));
  request.options.numerics = numerics == "fp32"   ? judge::NumericsPolicy::fp32
                             : numerics == "tf32" ? judge::NumericsPolicy::tf32
                                                  : judge::NumericsPolicy::any;
  FIEL_TRY(const uint64_t seconds, unsigned_value(arguments, "--timeout", 60, 86'400));
  request.options.call_timeout_ms = static_cast<int64_t>(std::max<uint64_t>(seconds, 1)) * 1000;
  FIEL_TRY(const uint64_t whole, unsigned_value(arguments, "--time-limit", 0, 30 * 86'400));
  request.options.time_limit_ms = static_cast<int64_t>(whole) * 1000;
  if (const auto shapes = arguments.value("--shapes"))
    for (std::string_view name : split(*shapes, ','))
      if (!trim(name).empty()) request.options.shapes.emplace_back(trim(name));
  if (arguments.has("--require-isolation")) request.isolation.required = sandbox::Level::namespaces;
  request.options.interrupted = context.interrupted;
  request.locks = cache_dir() / "gpu";
  return request;
}

}  // namespace

PairJudging::PairJudging(const Arguments& arguments, judge::JudgeRequest request)
    : arguments_(&arguments),
      request_(std::move(request)),
      torch_(std::make_unique<TorchJudging>(arguments)) {}

Result<PairJudging> PairJudging::create(const Arguments& arguments, const Context& context) {
  FIEL_TRY(judge::JudgeRequest request, request_of(arguments, context));
  return PairJudging(arguments, std::move(request));
}

Result<const task::Task*> PairJudging::load(const std::string& path) {
  if (!task_ || path_ != path) {
    task_.reset();
    FIEL_TRY(task_, task::load_task(path));
    path_ = path;
  }
  return &*task_;
}

Result<judge::Verdict> PairJudging::judge_native(const JudgePair& pair) {
  FIEL_TRY(const auto device, device_of(*arguments_));
  if (device.value_or("virtual") == "cpu")
    return fail(ErrorCode::usage,
                "a native task runs on the virtual device or a GPU, not in PyTorch",
                "--device virtual");
  if (request_.device.is_cuda()) {
    judge::Environment unused;
    FIEL_TRY_STATUS(judge::describe_gpu(request_.device, unused).map([](const auto&) {}));
  }
  FIEL_TRY(const task::Task* task, load(pair.task));
  FIEL_TRY(judge::Verdict verdict, judge::judge_kernel(*task, pair.kernel, request_));
  // Others' protocols have clocks of their own, and a call that is made again has no speed.
  const bool timed = verdict.status == judge::VerdictStatus::correct && request_.device.is_cuda() &&
                     !request_.options.replay &&
                     request_.options.protocol == judge::Protocol::strict;
  if (timed) FIEL_TRY_STATUS(torch_->time_native(*task, pair, request_, verdict));
  return verdict;
}

Result<judge::Verdict> PairJudging::judge(const JudgePair& pair, const ProgressFunction& progress) {
  request_.options.progress = progress;
  request_.options.limit.reset();
  request_.options.limit = judge::begin_limit(request_.options);
  const bool python = std::filesystem::path(pair.task).extension() == ".py";
  return python ? torch_->judge(pair, request_) : judge_native(pair);
}

Result<judge::Verdict> PairJudging::judge(const JudgePair& pair, const ProgressFunction& progress,
                                          judge::Protocol protocol) {
  request_.options.protocol = protocol;
  return judge(pair, progress);
}

Result<judge::Verdict> PairJudging::replay(const JudgePair& pair, const ProgressFunction& progress,
                                           const judge::ReplayCall& call) {
  request_.options.replay = call;
  auto verdict = judge(pair, progress);
  request_.options.replay.reset();
  return verdict;
}

}  // namespace fiel::cli
