#include "judge/torch/accounts.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "judge/torch/answers.h"

namespace fiel::judge::torch {
namespace {

/// the first eager side that is there stands for the baselines.
Contestant* eager_of(std::vector<Contestant>& all) {
  for (Contestant& c : all)
    if (c.side.name == "eager" && c.present()) return &c;
  return nullptr;
}

struct CallMemory {
  uint64_t transient_bytes = 0, allocator_peak_bytes = 0, setup_bytes = 0;
};

/// Of one call, while the GPU is this judgement's alone: the oracle watches the device, since what
/// a candidate says of itself may be wrong, and PyTorch's allocator does not see raw cudaMalloc.
std::optional<CallMemory> memory_of_call(OracleSide& oracle, Contestant& side, const Case& c) {
  const auto input = oracle.place(c, {}, side.windows);
  if (!input || !side.runner->reach(*input) || !side.runner->memory(true)) return std::nullopt;
  worker::TorchWorker& watcher = oracle.oracle().worker();
  Json watch = Json::object({{"op", "watch_memory"}, {"start", true}});
  if (!watcher.ask(watch)) return std::nullopt;
  const auto called = side.runner->call(*input, {});
  watch["start"] = false;
  const auto seen = watcher.ask(watch);
  if (!called || !seen) return std::nullopt;
  const auto use = side.runner->memory(false);
  if (!use) return std::nullopt;
  CallMemory m;
  const uint64_t before = worker::read_count((*seen)["before"]);
  m.transient_bytes = std::max(worker::read_count((*seen)["peak"]), before) - before;
  // A module allocates its outputs; a bare kernel finds them allocated.
  if (side.runner->writes_in_place()) m.transient_bytes += oracle.task().output_bytes;
  m.allocator_peak_bytes = use->allocated_peak;
  m.setup_bytes = use->setup_bytes;
  return m;
}

void record_memory(TorchCourse& course, Contestant& kernel, Contestant* eager, const Case& c) {
  if (course.oracle().machine().device_uuid.empty()) return;
  MemoryUse& m = course.verdict().measurement->memory;
  if (const auto own = memory_of_call(course.oracle(), kernel, c)) {
    m.kernel_persistent_bytes = own->setup_bytes;
    m.kernel_transient_bytes = own->transient_bytes;
    m.kernel_allocator_peak_bytes = own->allocator_peak_bytes;
    m.kernel_peak_bytes = m.kernel_persistent_bytes + m.kernel_transient_bytes;
  }
  if (eager == nullptr) return;
  const auto other = memory_of_call(course.oracle(), *eager, c);
  if (!other) return;
  // Sides are loaded side by side, so what the device had in use then is no one's: the reference
  // holds its weights.
  m.baseline_persistent_bytes = course.oracle().task().weight_bytes;
  m.baseline_transient_bytes = other->transient_bytes;
  m.baseline_allocator_peak_bytes = other->allocator_peak_bytes;
  m.baseline_peak_bytes = m.baseline_persistent_bytes + m.baseline_transient_bytes;
  if (m.kernel_peak_bytes > 0 && m.baseline_peak_bytes > 0)
    m.efficiency =
        static_cast<double>(m.baseline_peak_bytes) / static_cast<double>(m.kernel_peak_bytes);
}

}  // namespace

Status record_accounts(TorchCourse& course, std::vector<Contestant>& all, const Case& c) {
  Contestant& kernel = all.front();
  if (!kernel.present()) return {};
  Measurement& m = *course.verdict().measurement;
  FIEL_TRY_STATUS(course.poll("memory"));
  // Memory first: the profiler has buffers of its own.
  record_memory(course, kernel, eager_of(all), c);
  FIEL_TRY_STATUS(course.poll("kernels"));
  FIEL_TRY_STATUS(course.oracle().turn().take(Share::shared));  // its times are not measurements
  const Result<Input> input = course.oracle().place(c, {}, kernel.windows);
  if (input) {
    m.launched = kernel.runner->kernels(*input);
    return {};
  }
  if (!is_out_of_memory(input.error())) return fail(input.error());
  m.launched.missing = "no memory was left for the pass that looks at kernels";
  return {};  // what was timed stands
}

std::optional<std::string> track_violation(const std::vector<KernelEvidence>& kernels,
                                           Track track) {
  const std::optional<double> own = own_share(kernels);
  if (track == Track::any || !own) return std::nullopt;
  const double foreign = track == Track::own ? 1 - *own : *own;
  if (foreign <= 0.5) return std::nullopt;
  const KernelEvidence* worst = nullptr;
  for (const KernelEvidence& k : kernels) {
    if ((track == Track::own) == (k.origin == "own")) continue;
    const auto weight = [](const KernelEvidence& e) { return std::pair(e.device_ns, e.launches); };
    if (worst == nullptr || weight(k) > weight(*worst)) worst = &k;
  }
  const bool timed = worst->device_ns > 0;
  return fmt::format("{:.0f} % of the {} {} kernels, most in {}", 100 * foreign,
                     timed ? "device time is spent in" : "launches are of",
                     track == Track::own ? "library and framework" : "own", worst->name);
}

void note_unjudged_track(const TorchRequest& request, Verdict& verdict) {
  if (request.track == Track::any || verdict.status != VerdictStatus::correct) return;
  const auto& m = verdict.measurement;
  if (m && own_share(m->launched.kernels)) return;
  const std::string why = !m ? "nothing was timed, and kernels are seen beside times"
                          : !m->launched.missing.empty() ? m->launched.missing
                                                         : m->why;
  verdict.findings.push_back(finding(
      JudgeFinding::track_unjudged, vgpu::Grade::warn,
      fmt::format("nobody saw whose kernels do the work, so the track '{}' was not judged: {}",
                  name_of(request.track), why),
      Probe::timed_calls, m ? m->shape_set : kGivenShapes, verdict.resources.calls));
}

}  // namespace fiel::judge::torch
