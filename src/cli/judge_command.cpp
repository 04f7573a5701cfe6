// fiel judge: is this kernel right? One verdict a kernel, with evidence.
#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "cli/judge_many.h"
#include "cli/pairing.h"
#include "cli/torch_judging.h"
#include "judge/environment.h"
#include "judge/judge.h"
#include "task/task.h"

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
  FIEL_TRY(const std::string protocol, word_value(arguments, "--protocol", {"strict"}, "strict"));
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
  return request;
}

/// Native tasks, read once: kernels of one task usually follow each other.
class NativeTasks {
 public:
  Result<const task::Task*> load(const std::string& path) {
    if (!task_ || path_ != path) {
      task_.reset();
      FIEL_TRY(task_, task::load_task(path));
      path_ = path;
    }
    return &*task_;
  }

 private:
  std::string path_;
  std::optional<task::Task> task_;
};

Result<int> run(const Arguments& arguments, const Context& context) {
  FIEL_TRY(const Arguments all, with_flags_of_run(arguments));
  FIEL_TRY(judge::JudgeRequest request, request_of(all, context));
  JudgePlan plan{.arguments = all};
  if (all.has("--self")) {
    if (all.positional.size() != 1)
      return fail(ErrorCode::usage, "'--self' takes a task and no kernel",
                  "fiel judge --self task.py");
    plan.pairs.push_back(entry_of(all.positional.front(), all.positional.front()));
  } else {
    FIEL_TRY(plan, plan_judgements(all, context));
  }
  NativeTasks tasks;
  TorchJudging torch(all);
  const JudgePairFunction judge_pair =
      [&](const JudgePair& pair, const ProgressFunction& progress) -> Result<judge::Verdict> {
    request.options.progress = progress;
    if (std::filesystem::path(pair.task).extension() == ".py") return torch.judge(pair, request);
    FIEL_TRY(const auto device, device_of(all));
    if (device.value_or("virtual") == "cpu")
      return fail(ErrorCode::usage,
                  "a native task runs on the virtual device or a GPU, not in PyTorch",
                  "--device virtual");
    if (request.device.is_cuda()) {
      judge::Environment unused;
      FIEL_TRY_STATUS(judge::describe_gpu(request.device, unused).map([](const auto&) {}));
    }
    FIEL_TRY(const task::Task* task, tasks.load(pair.task));
    return judge::judge_kernel(*task, pair.kernel, request);
  };
  return judge_many(plan, judge_pair, context);
}

std::vector<Flag> flags() {
  std::vector<Flag> all{
      {"--device", "NAME", "virtual (PTX on the CPU), cpu (PyTorch tasks), cuda:N"},
      {"--protocol", "NAME", "probes and rules: strict"},
      {"--shapes", "A,B", "only these shape sets of the task"},
      {"--seed", "N", "replay a verdict; otherwise drawn in secret"},
      {"--budget", "NAME", "work per kernel: quick, standard, thorough"},
      {"--numerics", "NAME", "class an f32 task accepts: fp32, tf32 (default), any"},
      {"--timeout", "SECONDS", "wall-clock limit of one call (60)"},
      {"--time-limit", "SECONDS",
       "of a whole judgement, then undecided (by budget: 300, 900, 7200)"},
      {"--require-isolation", "", "judge only inside the full sandbox"},
      {"-v", "", "every finding, and what isolation was in force"}};
  for (const Flag& f : torch_judging_flags()) all.push_back(f);
  for (const Flag& f : judge_many_flags()) all.push_back(f);
  return all;
}

}  // namespace

Command judge_command() {
  return {
      {"judge", "TASK KERNEL...", "is this kernel right? one verdict each, with evidence", flags(),
       "A KERNEL is a .cu that defines fiel_run (fiel/kernel.h), or a folder of them. The judge\n"
       "goes on after each. Speed is not measured on the virtual device.\n" +
           std::string(kJudgeManyHelp)},
      run};
}

}  // namespace fiel::cli
