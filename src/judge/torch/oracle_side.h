// The oracle of a judgement, with its open task and its windows.
//
//   FIEL_TRY(auto oracle, OracleSide::open(workers, request, Share::shared));
//   FIEL_TRY(const Input input, oracle->place(c, slots));
//   Answer<Called> called = side.call(input, options);        // judge/torch/side.h
//
// What fails at the oracle is an Error: of the task's author, or of this machine.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "judge/codes.h"
#include "judge/torch/gpu_turn.h"
#include "judge/torch/request.h"
#include "judge/verdict.h"
#include "tensor/compare.h"
#include "worker/torch_oracle.h"
#include "worker/torch_runner.h"

namespace fiel::judge::torch {

/// The shape set of the task's own inputs.
inline constexpr const char* kGivenShapes = "given";

/// Shared memory by what it is for; a side's own, so that no two sides share any.
enum class Use : uint8_t {
  inputs,
  other_inputs,
  outputs,
  other_outputs,
  weights,
  timed_inputs,
  timed_outputs
};

struct Case {
  worker::Prepare wish;
  worker::PreparedCase prepared;
  Probe probe = Probe::task_inputs;
};

/// An input set as a runner can reach it.
struct Input {
  const worker::WindowHandle* in = nullptr;
  const worker::WindowHandle* out = nullptr;
  Json value;
  worker::Region region;
  std::vector<worker::Leaf> outputs;  ///< what forward returns, without places
  Json outputs_tree;
  uint64_t shift_bytes = 0;
};

struct Slots {
  Use in = Use::inputs, out = Use::outputs;
  uint64_t shift_bytes = 0;
  uint8_t poison = 0xff;
};

using GiveBack = std::function<void(std::unique_ptr<worker::TorchWorker>)>;

class OracleSide {
 public:
  /// The room is entered before the task takes memory of the GPU.
  static Result<std::unique_ptr<OracleSide>> open(const Workers& workers,
                                                  const TorchRequest& request, Share room);
  ~OracleSide();

  /// An empty `shape_variant` is the task's main shapes.
  Result<Case> prepare(Probe probe, uint32_t variant, uint64_t seed,
                       std::optional<uint64_t> weights_seed, const std::string& shape_variant = {},
                       const Case* base = nullptr);
  Result<Input> place(const Case& c, const Slots& slots, const std::string& side = {});
  /// Parameters and buffers of the case, written for a side; the leaves say where.
  struct WeightsAt {
    const worker::WindowHandle* window = nullptr;
    Json leaves;
    bool any = false, buffers = false;
  };
  Result<WeightsAt> weights(const Case& c, const std::string& side = {});
  Result<worker::Verified> verify(const Case& c, const Json& outputs, NumericsClass lowest,
                                  const Json& state = {});
  Result<std::vector<worker::Impostor>> impostors(const Json& cases);
  Result<const worker::WindowHandle*> window(const std::string& side, Use use, uint64_t bytes);
  void release(const Case& c);
  /// Gives the memory back, once the runners that mapped it have forgotten it.
  std::optional<int64_t> drop_window(const std::string& side, Use use);

  GpuTurn& turn() { return *turn_; }
  worker::TorchOracle& oracle() { return oracle_; }
  const worker::OpenedTask& task() const { return task_; }
  const worker::TorchFacts& machine() const { return machine_; }
  bool has_buffers() const { return has_buffers_; }
  /// The shapes that everything is tried at: kGivenShapes, or a variant that fits a slow device.
  const std::string& main_shapes() const { return main_shapes_; }
  /// Seconds that it worked on cases: a candidate's own time is not in it.
  double busy_s() const { return busy_s_; }

 private:
  explicit OracleSide(std::unique_ptr<worker::TorchWorker> process)
      : process_(std::move(process)), oracle_(*process_) {}
  template <typename T>
  Result<T> mine(worker::Answer<T> answer, const char* what);
  Result<worker::OpenedTask> open_task(const TorchRequest& request);

  std::unique_ptr<worker::TorchWorker> process_;
  worker::TorchOracle oracle_;
  worker::TorchFacts machine_;
  worker::OpenedTask task_;
  std::map<std::pair<std::string, Use>, worker::WindowHandle> windows_;
  GiveBack give_back_;
  std::optional<GpuTurn> turn_;
  bool sound_ = true;  ///< nothing failed: it may serve another judgement
  bool has_buffers_ = false;
  std::string main_shapes_;
  double busy_s_ = 0;
  std::deque<Json> leaving_;  ///< released, but still known to the oracle
};

/// A worker's fault as ours. What ran out of memory is known by it.
Error error_of(const worker::WorkerFault& fault);
bool is_out_of_memory(const Error& error);

/// What runs the oracle; with the GPU where that is the kernel's device too.
void describe_machine(const worker::TorchFacts& machine, bool with_device, Environment& to);

/// A trusted process with its windows dropped and its modules unloaded, or nothing.
void give_back_clean(std::unique_ptr<worker::TorchWorker> process, const GiveBack& give_back);

/// What the case was drawn from, so that it can be made again.
void name_inputs(const Case& c, Witness& witness);

/// Room for leaves with guard bands around each.
uint64_t window_bytes(const std::vector<worker::Leaf>& leaves);

}  // namespace fiel::judge::torch
