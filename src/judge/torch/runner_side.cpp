#include "judge/torch/runner_side.h"

#include <algorithm>

#include "base/text.h"

namespace fiel::judge::torch {
namespace {

constexpr size_t kMaxKernels = 64, kMaxReason = 300;

}  // namespace

RunnerSide::~RunnerSide() {
  // A reset would wait until a process that was started in vain has imported PyTorch.
  if (!used_ && give_back_)
    give_back_(std::move(process_));
  else
    give_back_clean(std::move(process_), give_back_);
}

void RunnerSide::forget(int64_t window) {
  if (mapped_.erase(window) != 0) (void)runner_.drop_window(window);
}

worker::Answer<void> RunnerSide::reach(const Input& input) {
  FIEL_TRY_STATUS(map(*input.in));
  return map(*input.out);
}

worker::Answer<worker::LoadedModule> RunnerSide::load(const RunnerSettings& s) {
  call_timeout_ms_ = s.call_timeout_ms;
  used_ = true;
  FIEL_TRY_STATUS(runner_.hello(device_));
  worker::LoadModule load;
  load.kind = s.kind;
  load.path = s.path;
  load.init_seed = s.init_seed;
  load.mode = s.mode;
  load.policy = s.policy;
  load.compile = s.compile;
  load.task_path = s.task_path;
  FIEL_TRY(auto loaded, runner_.load(load, {.timeout_ms = s.load_timeout_ms}));
  module_ = loaded.id;
  return loaded;
}

worker::Answer<void> RunnerSide::map(const worker::WindowHandle& window) {
  if (mapped_.count(window.id) != 0) return {};
  FIEL_TRY_STATUS(runner_.map_window(window));
  mapped_.insert(window.id);
  return {};
}

worker::Answer<worker::CopiedWeights> RunnerSide::take(const OracleSide::WeightsAt& weights) {
  FIEL_TRY_STATUS(map(*weights.window));
  return runner_.weights(module_, weights.window->id, weights.leaves);
}

worker::Answer<Called> RunnerSide::call(const Input& input, const CallOptions&) {
  FIEL_TRY_STATUS(map(*input.in));
  FIEL_TRY_STATUS(map(*input.out));
  worker::CallModule call;
  call.module = module_;
  call.in = input.in->id;
  call.inputs = input.value;
  call.out = input.out->id;
  call.region = input.region;
  Called called;
  FIEL_TRY(called.answer, runner_.call(call, call_timeout_ms_));
  return called;
}

worker::Answer<Json> RunnerSide::state(const worker::WindowHandle& window, worker::Region region) {
  FIEL_TRY_STATUS(map(window));
  return runner_.state(module_, window.id, region);
}

worker::Answer<void> RunnerSide::build(const Input& input) {
  FIEL_TRY_STATUS(map(*input.in));
  FIEL_TRY([[maybe_unused]] const bool built,
           runner_.build(module_, input.in->id, input.value, call_timeout_ms_));
  return {};
}

worker::Answer<void> RunnerSide::enter_clock(const ClockSlots& slots) {
  FIEL_TRY_STATUS(map(*slots.in));
  FIEL_TRY_STATUS(map(*slots.out));
  Json request = Json::object({{"module", module_},
                               {"inputs_window", slots.in->id},
                               {"outputs_window", slots.out->id},
                               {"slots", slots.layout},
                               {"graph", slots.graph}});
  return runner_.start_time(std::move(request), slots.page);
}

void RunnerSide::leave_clock(int64_t timeout_ms) { (void)runner_.finish_time(timeout_ms); }

worker::Answer<void> RunnerSide::confirm() {
  FIEL_TRY_STATUS(runner_.memory(module_, false, call_timeout_ms_));
  return {};
}

std::optional<worker::ModuleMemory> RunnerSide::memory(bool reset) {
  const auto use = runner_.memory(module_, reset);
  return use ? std::optional(*use) : std::nullopt;
}

LaunchedKernels RunnerSide::kernels(const Input& input) {
  LaunchedKernels seen;
  if (const auto mapped = map(*input.in); !mapped) {
    seen.missing = printable(mapped.error().what, kMaxReason);
    return seen;
  }
  const auto evidence = runner_.evidence(module_, input.in->id, input.value, call_timeout_ms_);
  if (!evidence) {
    seen.missing = printable("the profiled pass failed: " + evidence.error().what, kMaxReason);
    return seen;
  }
  for (const worker::KernelEvidence& k : evidence->kernels) {
    if (seen.kernels.size() == kMaxKernels) break;
    const bool known = k.origin == "own" || k.origin == "library";
    seen.kernels.push_back({printable(k.name, 200), known ? k.origin : "framework", k.launches,
                            std::max(k.device_ns, 0.0), k.tensor_core});
  }
  seen.graph_launches = evidence->graph_launches;
  if (own_share(seen.kernels)) return seen;
  seen.missing = printable(evidence->missing, kMaxReason);
  if (seen.missing.empty()) seen.missing = "the profiler saw no kernel";
  return seen;
}

}  // namespace fiel::judge::torch
