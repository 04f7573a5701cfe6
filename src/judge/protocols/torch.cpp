#include "judge/protocols/torch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "judge/time_limit.h"
#include "judge/torch/fault.h"
#include "worker/torch_runner.h"

namespace fiel::judge::torch {
namespace {

constexpr size_t kMaxTrials = 256, kMaxNotes = 16;
constexpr int64_t kMeasuringMs = 600'000;  ///< all trials and repeats, and a compilation

std::optional<double> positive(const Json& j) {
  const double v = worker::read_number(j);
  return j.is_number() && std::isfinite(v) && v > 0 ? std::optional(v) : std::nullopt;
}

std::optional<uint64_t> bytes(const Json& j) {
  return j.is_integer() ? std::optional(worker::read_count(j)) : std::nullopt;
}

/// The GPU's UUID is a trusted process's word; a CPU has none.
Result<std::string> device_uuid(const TorchRequest& request, const Workers& workers) {
  if (request.device == "cpu") return std::string();
  FIEL_TRY(auto process, workers.baseline("default"));
  auto facts = worker::TorchRunner(*process).hello(request.device);
  if (!facts) return fail(worker::to_error(facts.error()).with_context("looking at the GPU"));
  if (workers.give_back) workers.give_back(std::move(process));
  return facts->device_uuid;
}

void describe(const worker::TorchFacts& m, Verdict& v) {
  v.environment.device = m.device_name;
  v.environment.device_uuid = m.device_uuid;
  v.environment.driver = m.driver;
  v.environment.cuda = m.cuda;
  v.environment.torch = m.torch;
  v.environment.python = m.python;
}

Json request_for(const ProtocolRules& rules, const TorchRequest& request,
                 const worker::ConfinedRunner& confined) {
  Json j = Json::object({{"op", "protocol"}, {"path", confined.candidate}});
  j["task_path"] = confined.task;
  j["rules"] = to_json(rules);
  // A compilation takes longer than all the rest: on a CPU only where time is asked for.
  const auto& b = request.baselines;
  j["compile"] = request.time_budget_ms > 0 && std::find(b.begin(), b.end(), "compile") != b.end();
  return j;
}

void rejected(const worker::WorkerFault& fault, const ProtocolRules& rules, Verdict& v) {
  const FaultVerdict f = verdict_of(fault, Stage::loading);
  v.status = f.status;
  v.unsupported_by = f.unsupported_by;
  v.reason = fmt::format("opinion of {}, not ours: {}", name_of(rules.protocol), f.reason);
  (f.status == VerdictStatus::compile_error ? v.compiler_output : v.candidate_output) = f.output;
  Opinion o;
  o.protocol = std::string(name_of(rules.protocol));
  o.source = std::string(rules.source);
  v.opinion = std::move(o);
}

/// The status of one that it rejects: an exception in a call is no wrong value.
VerdictStatus status_of(const Opinion& o) {
  if (o.accepted) return VerdictStatus::correct;
  for (const OpinionTrial& t : o.trials)
    if (!t.passed)
      return t.why.starts_with("runtime error") ? VerdictStatus::runtime_error
                                                : VerdictStatus::incorrect;
  return VerdictStatus::incorrect;
}

}  // namespace

Opinion read_opinion(const ProtocolRules& rules, const Json& reply) {
  Opinion o;
  o.protocol = std::string(name_of(rules.protocol));
  o.source = std::string(rules.source);
  for (const Json& t : reply["trials"].items()) {
    if (o.trials.size() == kMaxTrials) break;
    o.trials.push_back({printable(t["inputs"].as_string(), 80), t["passed"].as_bool(),
                        t["dropped"].as_bool(), worker::read_number(t["max_difference"]),
                        printable(t["why"].as_string(), 300)});
  }
  o.accepted = reply["accepted"].as_bool();
  o.clock = printable(reply["clock"].as_string(), 200);
  o.kernel_ns = positive(reply["kernel_ns"]);
  o.reference_ns = positive(reply["reference_ns"]);
  o.compiled_ns = positive(reply["compiled_ns"]);
  if (o.kernel_ns && o.reference_ns) o.speedup = *o.reference_ns / *o.kernel_ns;
  o.kernel_peak_bytes = bytes(reply["kernel_peak_bytes"]);
  o.reference_peak_bytes = bytes(reply["reference_peak_bytes"]);
  for (const Json& n : reply["notes"].items())
    if (o.notes.size() < kMaxNotes) o.notes.push_back(printable(n.as_string(), 200));
  if (reply["timing_failed"].is_string())
    o.notes.push_back("no time: " + printable(reply["timing_failed"].as_string(), 300));
  return o;
}

Status run_protocol(const ProtocolRules& rules, const TorchRequest& request, const Workers& workers,
                    Verdict& v) {
  FIEL_TRY(const std::string uuid, device_uuid(request, workers));
  if (request.options.progress)
    request.options.progress({fmt::format("{}: {}", name_of(rules.protocol), v.kernel), 0, 1});
  FIEL_TRY(worker::ConfinedRunner confined, workers.candidate(uuid));
  v.isolation = confined.worker->isolation();
  auto facts = worker::TorchRunner(*confined.worker).hello(confined.device);
  if (!facts) return fail(worker::to_error(facts.error()).with_context("starting the worker"));
  describe(*facts, v);
  v.task = std::filesystem::path(request.task_path).stem().string();
  const int64_t patience = request.load_timeout_ms + kMeasuringMs +
                           static_cast<int64_t>(rules.trials) * request.options.call_timeout_ms;
  const auto reply =
      confined.worker->ask(request_for(rules, request, confined), {.timeout_ms = patience});
  const auto& limit = request.options.limit;
  if (!reply && limit && limit->has_cut()) return fail(limit->error());
  if (!reply) {
    rejected(reply.error(), rules, v);
    return {};
  }
  Opinion o = read_opinion(rules, *reply);
  v.status = status_of(o);
  v.reason = summary(o);
  v.resources.calls = v.resources.calls_compared = o.trials.size();
  v.candidate_output = printable((*reply)["printed"].as_string(), 4000);
  v.opinion = std::move(o);
  return {};
}

}  // namespace fiel::judge::torch
