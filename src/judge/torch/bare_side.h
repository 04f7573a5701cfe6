// A bare .cu on a PyTorch task: forward's tensors, then the weights in the oracle's order, go to
// fiel_run; its outputs are contiguous tensors of the task's dtypes and shapes.
//
//   BareSide side(std::move(session), {.on_gpu = true});
//
// No Python runs for it. On a GPU it works in the oracle's windows; on the virtual GPU on copies
// exactly as long as the tensors, but for one probe (moved inputs) that goes through the windows as
// a GPU would. Numbers among forward's arguments are not passed. docs/bare-kernels.md#pytorch-tasks
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "judge/torch/bare_memory.h"
#include "judge/torch/side.h"

namespace fiel::judge::torch {

struct BareSettings {
  bool on_gpu = false;
  bool watch_inputs = true;  ///< false where the reference itself writes into them
};

class BareSide final : public Side {
 public:
  BareSide(std::unique_ptr<worker::BareSession> session, BareSettings settings)
      : session_(std::move(session)), memory_(*session_), settings_(settings) {}

  worker::Answer<worker::CopiedWeights> take(const OracleSide::WeightsAt& weights) override;
  worker::Answer<Called> call(const Input& input, const CallOptions& options) override;
  worker::Answer<Json> state(const worker::WindowHandle& window, worker::Region region) override;

  bool writes_in_place() const override { return true; }
  bool host_is_ours() const override { return true; }
  worker::Answer<void> enter_clock(const ClockSlots& slots) override;
  void attend_clock() override { session_->pump_clock(0); }
  void leave_clock(int64_t timeout_ms) override;
  worker::Answer<void> reach(const Input& input) override;
  void forget(int64_t window) override { memory_.forget(window); }
  std::optional<worker::ModuleMemory> memory(bool reset) override;
  LaunchedKernels kernels(const Input& input) override;

  /// Samples in which the device's events fell short of the host's clock.
  uint64_t events_short() const { return events_short_; }

 private:
  struct Weight {
    std::string name;
    bool is_buffer = false;
    worker::DeviceTensor tensor;
  };
  Result<worker::CallRequest> place(const Input& input, const std::vector<worker::Leaf>& outputs,
                                    bool in_windows, uint8_t poison);
  Status inspect(const Input& input, const CallOptions& options, Called& called);
  Status inspect_writes(BareMemory::Group group, const CallOptions& options, Call& seen);
  Status inspect_outputs(const CallOptions& options, Call& seen);
  Status keep_outputs(Call& seen);
  void account(const worker::CallRequest& request, const worker::CallOutcome& outcome);

  std::unique_ptr<worker::BareSession> session_;
  BareMemory memory_;
  BareSettings settings_;
  std::vector<Weight> weights_;
  uint64_t calls_ = 0, events_short_ = 0;
  worker::ModuleMemory used_;
  std::vector<KernelEvidence> launched_;
  bool in_clock_ = false;
};

/// Why a bare kernel cannot be given this task: a number that varies, a dtype, a rank. Empty: it
/// can. The cases are of different draws.
std::string bare_obstacle(const std::vector<Case>& cases);

}  // namespace fiel::judge::torch
