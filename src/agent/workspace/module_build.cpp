#include "agent/workspace/module_build.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "judge/torch/fault.h"
#include "kernel/torch_kernel.h"
#include "worker/python_sandbox.h"
#include "worker/torch_runner.h"

namespace fiel::agent {
namespace {

using judge::torch::Stage;

std::string device_of(const ModuleBuild& q) {
  if (q.device == "cuda") return "cuda:0";
  if (!q.device.empty()) return q.device;
  return ::access("/dev/nvidiactl", R_OK | W_OK) == 0 ? "cuda:0" : "cpu";
}

Feedback said(bool good, const std::string& text) {
  Feedback f;
  f.good = good;
  f.text = bounded_lines(text, kFeedbackLines, kFeedbackBytes);
  return f;
}

Feedback said(const worker::WorkerFault& fault, Stage stage) {
  const judge::torch::FaultVerdict v = judge::torch::verdict_of(fault, stage);
  return said(false, v.reason + "\n" + v.output);
}

}  // namespace

Feedback module_build_feedback(const ModuleBuild& q) {
  const auto kernel = kernel::load_torch_kernel(q.kernel);
  if (!kernel) return said(false, to_string(kernel.error()));
  worker::ConfinedRequest confined;
  const auto python = worker::find_python(q.python);
  if (!python) return said(false, to_string(python.error()));
  confined.python = *python;
  confined.device = device_of(q);
  confined.candidate = q.kernel;
  confined.task = q.task;
  sandbox::IsolationPolicy policy;
  policy.limits = worker::python_limits();
  const auto started = worker::start_confined_runner(confined, policy);
  if (!started) return said(false, to_string(started.error()));
  worker::TorchRunner runner(*started->worker);
  if (const auto hello = runner.hello(started->device); !hello)
    return said(hello.error(), Stage::starting);
  worker::LoadModule load;
  load.kind = kernel->load_kind();
  load.path = started->candidate;
  load.task_path = started->task;
  const auto loaded = runner.load(load, {.timeout_ms = q.timeout_ms});
  if (!loaded) return said(loaded.error(), Stage::loading);
  return said(true, fmt::format("built in {:.1f} s: ModelNew with {} parameters and buffers\n",
                                loaded->build_ms / 1000, loaded->weights.size()));
}

}  // namespace fiel::agent
