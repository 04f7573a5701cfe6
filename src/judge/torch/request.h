// What a judgement of a PyTorch task is asked for, and where its processes come from.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/compiled.h"
#include "judge/options.h"
#include "sandbox/isolation.h"
#include "worker/python_sandbox.h"
#include "worker/torch_worker.h"

namespace fiel::judge::torch {

enum class Track : uint8_t { any, own, libraries };
std::string_view name_of(Track track);
/// What a timed call finds: caches flushed, as the last call left them, or its launches replayed.
enum class Timing : uint8_t { cold, warm, graph };

std::string_view name_of(Timing timing);

/// Times of baselines that earlier judgements took (judge/torch/baseline_cache.h).
struct BaselineCacheWish {
  enum class Mode : uint8_t {
    use,      ///< show what is known to be slower, measure the rest
    refresh,  ///< measure all, and keep it
    off,      ///< measure all
  };
  Mode mode = Mode::off;
  std::filesystem::path folder;     ///< the cache's; entries lie in a folder of their own
  std::string worker_version;       ///< other workers time otherwise
  std::function<int64_t()> now_ms;  ///< since 1970; needed unless off
};
std::string_view name_of(BaselineCacheWish::Mode mode);

/// Starts processes; each call another one.
struct Workers {
  using Process = Result<std::unique_ptr<worker::TorchWorker>>;
  std::function<Process()> oracle;
  /// By numerics policy: flags of PyTorch are a process's, and stay what they were.
  std::function<Process(const std::string& policy)> baseline;
  /// Trusted processes come back whole and unused, or not at all; may be empty.
  std::function<void(std::unique_ptr<worker::TorchWorker>)> give_back;
  /// Confined; the device's UUID is the oracle's word, empty on the CPU.
  std::function<Result<worker::ConfinedRunner>(const std::string& device_uuid)> candidate;
  /// A bare kernel instead; called on a thread of its own.
  std::function<Result<Compiled>()> compile;
  /// The gauge beside it, for the same device (judge/torch/gauge.h); may be empty.
  std::function<Result<Compiled>()> gauge;
};

struct TorchRequest {
  JudgeOptions options;
  std::string device = "cpu";         ///< as PyTorch names it
  std::string mode = "train";         ///< as KernelBench leaves its modules
  std::string task_path;              ///< absolute
  std::string shown_task;             ///< as the user named it
  std::string reference;              ///< a native task: the source of its generated module
  std::vector<std::string> domains;   ///< and what it says of each input
  std::string kernel_path;            ///< empty: the reference itself, as a control
  int64_t load_timeout_ms = 600'000;  ///< compilers run in it
  int64_t time_budget_ms = 60'000;    ///< of timing; 0: no timing
  std::vector<std::string> baselines = {"eager", "compile"};
  /// Of the baselines; empty: fp32, default and tf32, and bf16 or fp16 where an output is of it.
  std::vector<std::string> policies;
  std::filesystem::path locks;  ///< a folder of the user's; judgements of a GPU meet there
  Track track = Track::any;
  Timing timing = Timing::cold;
  BaselineCacheWish baseline_cache;

  /// A .cu or a launch plan, for which no Python runs.
  bool is_bare() const {
    return kernel_path.ends_with(".cu") || kernel_path.ends_with(".plan.toml");
  }
  bool on_virtual() const { return device == "virtual"; }
  /// An error where the device does not run that form of kernel.
  Status check_device() const;
  /// Where the oracle and the baselines run.
  std::string torch_device() const { return on_virtual() ? "cpu" : device; }
};

}  // namespace fiel::judge::torch
