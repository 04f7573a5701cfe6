// A runner's operations (docs/torch-workers.md#runner) with names and types.
//
//   TorchRunner runner(*worker);
//   FIEL_TRY_STATUS(runner.map_window(inputs));
//   FIEL_TRY(auto module, runner.load({.kind = "module", .path = "/run/kernel.py", …}));
//   FIEL_TRY(auto called, runner.call({.module = module.id, .in = inputs.id, …}));
//
// All of it comes from where the candidate's code runs: claims, bounded in size, for the oracle and
// the clock to confirm.
#pragma once

#include "worker/torch_oracle.h"
#include "worker/torch_values.h"
#include "worker/torch_worker.h"

namespace fiel::worker {

struct LoadModule {
  std::string kind = "module";  ///< reference, module or folder
  std::string path;
  uint64_t init_seed = 0;
  std::string mode = "eval";
  std::string policy = "fp32";   ///< fp32, default, tf32, bf16 or fp16
  std::string compile = "none";  ///< none, default, reduce-overhead or max-autotune
  std::string task_path;         ///< for get_init_inputs
};
struct ModuleWeight {
  std::string name, dtype;
  std::vector<int64_t> shape;
};
struct LoadedModule {
  Json id;  ///< `module`
  double build_ms = 0;
  std::vector<ModuleWeight> weights;
  Json flags;
  std::string extension_log;
  Json raw;
};

struct UnmatchedWeight {
  std::string name, kind;
  Json shape, candidate_name, candidate_shape;
};
struct RenamedWeight {
  std::string name, candidate_name, by;  ///< shape or order
};
struct CopiedWeights {
  std::vector<std::string> copied, ambiguous, extra;
  std::vector<RenamedWeight> renamed;
  std::vector<UnmatchedWeight> unmatched;
  std::string how;  ///< state_dict, by_shape or seed_replay
};

struct Region {
  uint64_t offset = 0, bytes = 0;
};
struct CallModule {
  Json module;
  int64_t in = 0;  ///< window
  Json inputs;     ///< a value
  int64_t out = 0;
  Region region;
  bool private_inputs = false;  ///< it calls with copies: the window stays what it was
};
struct CalledModule {
  Json outputs;  ///< a value
  std::vector<std::string> aliases;
  double device_ns = 0, host_ns = 0;
  std::string printed;
};

struct KernelEvidence {
  std::string name, origin;  ///< own, library or framework
  uint64_t launches = 0;
  double device_ns = 0;
  bool tensor_core = false;
};
struct Evidence {
  std::vector<KernelEvidence> kernels;
  uint64_t graph_launches = 0;
  std::string missing;  ///< why there are no kernels
  Json raw;
};
struct ModuleMemory {
  uint64_t allocated_peak = 0, reserved_peak = 0, setup_bytes = 0;  ///< the peaks: of PyTorch, GPU
  uint64_t used = 0, resident_peak = 0;  ///< of the whole device; of the process on the host
};

class TorchRunner {
 public:
  explicit TorchRunner(TorchWorker& worker) : worker_(worker) {}

  Answer<TorchFacts> hello(const std::string& device, int64_t timeout_ms = 120'000);
  Answer<void> map_window(const WindowHandle& window);
  Answer<void> drop_window(int64_t window);
  Answer<LoadedModule> load(const LoadModule& load, const AskOptions& options);
  Answer<CopiedWeights> weights(const Json& module, int64_t window, const Json& leaves);
  /// What a first call of a compiled module would compile; false where only that call can.
  Answer<bool> build(const Json& module, int64_t window, const Json& inputs, int64_t timeout_ms);
  Answer<CalledModule> call(const CallModule& call, int64_t timeout_ms);
  Answer<Json> state(const Json& module, int64_t window, Region region);
  /// Sends `time` and returns at once: the runner polls its control page until it is told to leave,
  /// while the oracle's `time` runs. `request` holds the contract's fields, the control page's
  /// descriptor goes along.
  Answer<void> start_time(Json request, int control);
  /// The reply of start_time; gives `calls`.
  Answer<uint64_t> finish_time(int64_t timeout_ms);
  Answer<Evidence> evidence(const Json& module, int64_t window, const Json& inputs,
                            int64_t timeout_ms);
  /// reset: new peaks
  Answer<ModuleMemory> memory(const Json& module, bool reset = false, int64_t timeout_ms = 60'000);
  Answer<void> unload(const Json& module);
  TorchWorker& worker() { return worker_; }

 private:
  TorchWorker& worker_;
};

}  // namespace fiel::worker
