#include "cli/torch_judging.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "judge/torch/accounts.h"
#include "judge/torch/gauge.h"
#include "judge/torch/judge_torch.h"
#include "judge/torch/native_speed.h"
#include "kernel/kernel.h"
#include "worker/python_environment.h"
#include "worker/python_package.h"
#include "worker/python_sandbox.h"
#include "worker/torch_pool.h"

namespace fiel::cli {
namespace {

namespace torch = judge::torch;

constexpr int kMaxDevice = 255;
/// The oracle, and eager and compiled baselines under three policies.
constexpr size_t kIdleWorkers = 8;

Result<std::vector<std::string>> chosen_of(const Arguments& arguments, const char* flag,
                                           std::vector<std::string> usual,
                                           const std::vector<std::string>& known) {
  const auto words = arguments.value(flag);
  if (!words) return usual;
  std::vector<std::string> chosen;
  for (std::string_view word : split(*words, ',')) {
    const std::string name(trim(word));
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(ErrorCode::usage,
                  fmt::format("'{}' is nothing for {}", printable(name, 60), flag),
                  fmt::format("{} {}", flag, fmt::join(known, ",")));
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  }
  return chosen;
}

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

/// A control measures what others are shown; times of the CPU are kept where that is asked for.
Result<torch::BaselineCacheWish> baseline_cache_of(const Arguments& arguments,
                                                   const torch::TorchRequest& r) {
  using Mode = torch::BaselineCacheWish::Mode;
  const char* usual = r.torch_device() == "cpu" ? "off" : r.kernel_path.empty() ? "refresh" : "use";
  FIEL_TRY(const std::string mode,
           word_value(arguments, "--baseline-cache", {"use", "refresh", "off"}, usual));
  torch::BaselineCacheWish wish;
  wish.mode = mode == "use" ? Mode::use : mode == "refresh" ? Mode::refresh : Mode::off;
  if (wish.mode == Mode::off) return wish;
  FIEL_TRY(const worker::PythonPackage package, worker::python_package());
  wish.worker_version = package.digest;
  wish.folder = cache_dir();
  wish.now_ms = now_ms;
  return wish;
}

Result<torch::TorchRequest> request_of(const Arguments& arguments, const JudgePair& pair,
                                       const judge::JudgeRequest& base) {
  torch::TorchRequest r;
  r.options = base.options;
  if (!arguments.has("--self")) r.kernel_path = pair.kernel;
  FIEL_TRY(const auto device, device_of(arguments));
  r.device = device ? *device : has_gpu() ? "cuda:0" : r.is_bare() ? "virtual" : "cpu";
  FIEL_TRY_STATUS(r.check_device());
  FIEL_TRY(r.mode, word_value(arguments, "--mode", {"train", "eval"}, "train"));
  FIEL_TRY(const std::string track,
           word_value(arguments, "--track", {"any", "own", "libraries"}, "any"));
  r.track = track == "own"         ? torch::Track::own
            : track == "libraries" ? torch::Track::libraries
                                   : torch::Track::any;
  FIEL_TRY(const std::string timing,
           word_value(arguments, "--timing", {"cold", "warm", "graph"}, "cold"));
  r.timing = timing == "cold"   ? torch::Timing::cold
             : timing == "warm" ? torch::Timing::warm
                                : torch::Timing::graph;
  FIEL_TRY(r.baselines, chosen_of(arguments, "--baselines", r.baselines,
                                  {"eager", "compile", "reduce-overhead", "max-autotune"}));
  FIEL_TRY(r.policies, chosen_of(arguments, "--policies", r.policies,
                                 {"fp32", "default", "tf32", "bf16", "fp16"}));
  r.locks = cache_dir() / "gpu";
  FIEL_TRY(r.baseline_cache, baseline_cache_of(arguments, r));
  FIEL_TRY(const uint64_t seconds, unsigned_value(arguments, "--time-budget", 60, 86'400));
  const bool untimed = r.on_virtual() || (r.device == "cpu" && !arguments.has("--time-budget"));
  r.time_budget_ms = untimed ? 0 : static_cast<int64_t>(seconds) * 1000;
  r.load_timeout_ms = std::max<int64_t>(600'000, r.options.call_timeout_ms);
  r.task_path = std::filesystem::absolute(pair.task).string();
  r.shown_task = pair.task;
  return r;
}

torch::Workers workers_for(const torch::TorchRequest& request, const judge::JudgeRequest& base,
                           const worker::PythonEnvironment& python, worker::TorchPool& pool) {
  torch::Workers w;
  const std::string device = request.torch_device();
  w.compile = [=] { return judge::compile_candidate(request.kernel_path, base); };
  w.gauge = [=] { return torch::compile_gauge(base); };
  w.oracle = [=, &pool] { return pool.take({worker::Role::oracle, python, device, "oracle"}); };
  w.baseline = [=, &pool](const std::string& policy) {
    return pool.take({worker::Role::runner, python, device, policy});
  };
  w.give_back = [&pool](std::unique_ptr<worker::TorchWorker> idle) {
    pool.give_back(std::move(idle));
  };
  if (request.kernel_path.empty() && base.isolation.required == sandbox::Level::none) {
    // The reference is trusted code: its control needs no sandbox, and no import of PyTorch a task.
    w.candidate = [=, &pool](const std::string&) -> Result<worker::ConfinedRunner> {
      FIEL_TRY(auto process, pool.take({worker::Role::runner, python, device, "self"}));
      FIEL_TRY(TempDir stage, TempDir::create("fiel-self"));
      return worker::ConfinedRunner{std::move(process), request.task_path, request.task_path,
                                    device, std::move(stage)};
    };
    return w;
  }
  w.candidate = [=, isolation = base.isolation](const std::string& uuid) {
    worker::ConfinedRequest c;
    c.python = python;
    c.device = device;
    c.device_uuid = uuid;
    c.candidate = request.kernel_path.empty() ? request.task_path : request.kernel_path;
    c.task = request.task_path;
    sandbox::IsolationPolicy policy = isolation;
    policy.limits = worker::python_limits();
    return worker::start_confined_runner(c, policy);
  };
  return w;
}

}  // namespace

bool has_gpu() { return ::access("/dev/nvidiactl", R_OK | W_OK) == 0; }

Result<std::optional<std::string>> device_of(const Arguments& arguments) {
  const auto word = arguments.value("--device");
  if (!word) return std::nullopt;
  if (*word == "virtual" || *word == "cpu") return *word;
  if (*word == "cuda") return "cuda:0";
  if (word->starts_with("cuda:")) {
    int number = -1;
    const auto [end, error] =
        std::from_chars(word->data() + 5, word->data() + word->size(), number);
    if (error == std::errc() && end == word->data() + word->size() && number >= 0 &&
        number <= kMaxDevice)
      return fmt::format("cuda:{}", number);
  }
  return fail(ErrorCode::usage, fmt::format("'{}' is no device", printable(*word, 60)),
              "--device virtual, cpu or cuda:0");
}

TorchJudging::TorchJudging(const Arguments& arguments)
    : arguments_(arguments), pool_(std::make_unique<worker::TorchPool>(kIdleWorkers)) {}
TorchJudging::~TorchJudging() = default;

Result<judge::Verdict> TorchJudging::judge(const JudgePair& pair,
                                           const judge::JudgeRequest& given) {
  FIEL_TRY(const torch::TorchRequest request, request_of(arguments_, pair, given));
  judge::JudgeRequest base = given;
  if (request.is_bare()) {
    FIEL_TRY(base.device, device::parse_device_name(request.device));
  }
  FIEL_TRY(const worker::PythonEnvironment python,
           worker::find_python(arguments_.value("--python").value_or("")));
  return torch::judge(request, workers_for(request, base, python, *pool_));
}

Status TorchJudging::time_native(const task::Task& task, const JudgePair& pair,
                                 const judge::JudgeRequest& base, judge::Verdict& verdict) {
  FIEL_TRY(torch::TorchRequest request, request_of(arguments_, pair, base));
  request.device = device::to_string(base.device);
  if (request.time_budget_ms > 0) {
    const auto python = worker::find_python(arguments_.value("--python").value_or(""));
    if (python) {
      const torch::Workers workers = workers_for(request, base, *python, *pool_);
      FIEL_TRY_STATUS(torch::time_native(task, request, workers, verdict));
    } else {
      const Error& e = python.error();
      torch::not_timed(verdict, e.hint.empty() ? e.what : e.what + "; " + e.hint);
    }
  }
  torch::note_unjudged_track(request, verdict);
  return {};
}

std::vector<Flag> torch_judging_flags() {
  return {
      {"--mode", "NAME", "PyTorch tasks: train (default, as KernelBench) or eval"},
      {"--self", "", "PyTorch tasks: the reference against itself, as a control"},
      {"--baselines", "A,B", "eager, compile, reduce-overhead, max-autotune (eager,compile)"},
      {"--policies", "A,B",
       "of the baselines: fp32, default, tf32, bf16, fp16 (what the dtypes say)"},
      {"--baseline-cache", "NAME",
       "times of slower baselines from earlier judgements: use (default), refresh, off"},
      {"--track", "NAME", "whose kernels may do the work: any (default), own, libraries"},
      {"--timing", "NAME", "caches flushed before each call (cold), warm, or graph (replayed)"},
      {"--time-budget", "SECONDS", "of timing on a GPU (60; 0: none)"},
      {"--python", "FILE", "the Python that has PyTorch"},
  };
}

}  // namespace fiel::cli
