// A module in a Python worker: a candidate's in the sandbox, or a baseline's.
//
//   RunnerSide side(std::move(process), "cuda:0");
//   Answer<worker::LoadedModule> loaded = side.load(settings);      // before everything else
#pragma once

#include <memory>
#include <set>
#include <string>

#include "judge/torch/side.h"

namespace fiel::judge::torch {

struct RunnerSettings {
  std::string kind = "module", path, task_path;
  std::string policy = "default", compile = "none", mode = "train";
  uint64_t init_seed = 0;
  int64_t load_timeout_ms = 600'000, call_timeout_ms = 60'000;
};

class RunnerSide final : public Side {
 public:
  /// A trusted process is given back in the end; a candidate's never is.
  RunnerSide(std::unique_ptr<worker::TorchWorker> process, std::string device,
             GiveBack give_back = {})
      : process_(std::move(process)),
        runner_(*process_),
        device_(std::move(device)),
        give_back_(std::move(give_back)) {}
  ~RunnerSide() override;

  worker::Answer<worker::LoadedModule> load(const RunnerSettings& settings);
  worker::Answer<worker::CopiedWeights> take(const OracleSide::WeightsAt& weights) override;
  worker::Answer<Called> call(const Input& input, const CallOptions& options) override;
  worker::Answer<Json> state(const worker::WindowHandle& window, worker::Region region) override;
  worker::Answer<void> enter_clock(const ClockSlots& slots) override;
  void leave_clock(int64_t timeout_ms) override;
  worker::Answer<void> reach(const Input& input) override;
  worker::Answer<void> build(const Input& input) override;
  void forget(int64_t window) override;
  void spoil() override { give_back_ = {}; }
  worker::Answer<void> confirm() override;
  std::optional<worker::ModuleMemory> memory(bool reset) override;
  LaunchedKernels kernels(const Input& input) override;

 private:
  worker::Answer<void> map(const worker::WindowHandle& window);

  std::unique_ptr<worker::TorchWorker> process_;
  worker::TorchRunner runner_;
  std::string device_;
  GiveBack give_back_;
  Json module_;
  int64_t call_timeout_ms_ = 60'000;
  bool used_ = false;  ///< asked for anything: it has to be cleaned for another
  std::set<int64_t> mapped_;
};

}  // namespace fiel::judge::torch
