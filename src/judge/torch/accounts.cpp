#include "judge/torch/accounts.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace fiel::judge::torch {
namespace {

constexpr size_t kMaxKernels = 64;

std::vector<KernelEvidence> kernels_of(RunnerSide& side, const Input& input) {
  Json request = Json::object({{"op", "evidence"}, {"module", side.module()}});
  request["window"] = input.in->id;
  request["inputs"] = input.value;
  const auto reply = side.process().ask(std::move(request));
  std::vector<KernelEvidence> kernels;
  if (!reply) return kernels;
  for (const Json& k : (*reply)["kernels"].items()) {
    if (kernels.size() == kMaxKernels) break;
    const std::string& origin = k["origin"].as_string();
    const bool known = origin == "own" || origin == "library";
    kernels.push_back({printable(k["name"].as_string(), 200), known ? origin : "framework",
                       worker::read_count(k["launches"]),
                       std::max(worker::read_number(k["device_ns"]), 0.0),
                       k["tensor_core"].as_bool()});
  }
  return kernels;
}

/// the first eager side that is there stands for the baselines.
Contestant* eager_of(std::vector<Contestant>& all) {
  for (Contestant& c : all)
    if (c.side.name == "eager" && c.present()) return &c;
  return nullptr;
}

void record_memory(Measurement& m, Contestant& kernel, Contestant* eager) {
  if (const auto use = kernel.runner->runner().memory(kernel.runner->module())) {
    m.memory.kernel_peak_bytes = use->allocated_peak;
    m.memory.kernel_persistent_bytes = use->setup_bytes;
  }
  if (eager == nullptr) return;
  if (const auto use = eager->runner->runner().memory(eager->runner->module())) {
    m.memory.baseline_peak_bytes = use->allocated_peak;
    m.memory.baseline_persistent_bytes = use->setup_bytes;
  }
  if (m.memory.kernel_peak_bytes > 0 && m.memory.baseline_peak_bytes > 0)
    m.memory.efficiency = static_cast<double>(m.memory.baseline_peak_bytes) /
                          static_cast<double>(m.memory.kernel_peak_bytes);
}

}  // namespace

Status record_accounts(TorchCourse& course, std::vector<Contestant>& all, const Case& c) {
  Contestant& kernel = all.front();
  if (!kernel.present()) return {};
  Measurement& m = *course.verdict().measurement;
  // Memory first: the profiler has buffers of its own.
  record_memory(m, kernel, eager_of(all));
  FIEL_TRY(const Input input, course.oracle().place(c, {}, kernel.windows));
  if (!kernel.runner->map(*input.in)) return {};
  m.kernels = kernels_of(*kernel.runner, input);
  return {};
}

std::optional<std::string> track_violation(const std::vector<KernelEvidence>& kernels,
                                           Track track) {
  double own = 0, others = 0;
  const KernelEvidence* worst = nullptr;
  for (const KernelEvidence& k : kernels) {
    const bool is_own = k.origin == "own";
    (is_own ? own : others) += k.device_ns;
    const bool foreign = (track == Track::own) != is_own;
    if (foreign && (worst == nullptr || k.device_ns > worst->device_ns)) worst = &k;
  }
  const double total = own + others;
  const double foreign = track == Track::own ? others : own;
  if (track == Track::any || total <= 0 || foreign <= total / 2 || worst == nullptr)
    return std::nullopt;
  return fmt::format("{:.0f} % of the device time is spent in {} kernels, most in {}",
                     100 * foreign / total, track == Track::own ? "library and framework" : "own",
                     worst->name);
}

}  // namespace fiel::judge::torch
