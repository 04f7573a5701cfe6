#include "judge/protocols/protocol.h"

#include <array>
#include <cmath>

#include "base/check.h"

namespace fiel::judge {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"strict", "naive", "kernelbench", "cuda-agent",
                                                    "kernelbench-verified"};

// Deliberately vulnerable: what a first evaluator looks like. Every choice lets something through.
ProtocolRules naive() {
  ProtocolRules r;
  r.protocol = Protocol::naive;
  r.source = "a first evaluator, deliberately vulnerable";
  r.trials = 10;
  r.seeding = Seeding::repeated;
  r.fp32 = r.half = {1e-2, 0};
  r.reference_first = false;
  r.any_structure = true;
  r.weights = WeightsRule::loose_load;
  r.clock = ProtocolClock::host_unsynchronised;
  r.warmups = 1;
  r.repeats = 10;
  return r;
}

// KernelBench 423217d, src/kernelbench: trials and repeats of scripts/run_and_check.py (107, 109).
ProtocolRules kernelbench() {
  ProtocolRules r;
  r.protocol = Protocol::kernelbench;
  r.source = "ScalingIntelligence/KernelBench 423217d, src/kernelbench/{eval,timing}.py";
  r.trials = 5;
  r.seeding = Seeding::derived;  // eval.py 750-764
  r.seed = 42;                   // eval.py 397
  r.fp32 = {1e-4, 1e-4};         // eval.py 93-100
  r.half = {1e-2, 1e-2};
  r.relative = RelativeTo::candidate;  // eval.py 804: allclose(output, output_new)
  r.casts_inputs = true;               // eval.py 388
  r.shares_namespace = true;           // eval.py 482-490, 522
  r.weights = WeightsRule::same_seed;  // eval.py 498, 561
  r.clock = ProtocolClock::events;     // timing.py 201-281
  r.warmups = 3;
  r.discarded = 1;
  r.repeats = 100;
  r.flushes_l2 = true;  // timing.py 139-142
  return r;
}

// CUDA-Agent 473025c, agent_workdir/utils.
ProtocolRules cuda_agent() {
  ProtocolRules r;
  r.protocol = Protocol::cuda_agent;
  r.source =
      "BytedTsinghua-SIA/CUDA-Agent 473025c, agent_workdir/utils/{verification,profiling}.py";
  r.trials = 5;                          // verification.py 87
  r.seeding = Seeding::unseeded;         // verification.py 76-82
  r.fp32 = r.half = {1e-2, 1e-2};        // verification.py 35
  r.clones_inputs = true;                // verification.py 81
  r.any_structure = true;                // verification.py 22-37
  r.checks_dtype = true;                 // torch.testing.assert_close
  r.blocks_functional = true;            // verification.py 40-62, 93
  r.stops_at_first = true;               // an assertion ends the script
  r.weights = WeightsRule::strict_load;  // verification.py 72
  r.mode = "eval";                       // verification.py 70-71
  r.clock = ProtocolClock::profiler;     // profiling.py 59-73
  r.warmups = 5;                         // profiling.py 109
  r.repeats = 10;                        // profiling.py 33
  r.compiled_baseline = true;            // profiling.py 108
  return r;
}

// KernelBench-Verified 3fdf6fe, src/eval.py; trials and repeats of scripts/eval_from_generations.py
// (75, 76).
ProtocolRules kernelbench_verified() {
  ProtocolRules r = kernelbench();
  r.protocol = Protocol::kernelbench_verified;
  r.source = "facebookresearch/kernel_bench_verified 3fdf6fe, src/eval.py";
  r.hidden_scales = {1, 3, 0.01, -1};  // scripts/generate_hidden_inputs.py 46-51
  r.fp32 = {1e-3, 1e-3};               // eval.py 95
  r.discarded = 0;                     // eval.py 858-874
  r.flushes_l2 = false;
  r.tf32_baseline = true;  // README.md 45
  r.peak_memory = true;    // eval.py 1093-1114
  return r;
}

std::string_view word(Seeding s) {
  static constexpr std::string_view words[] = {"repeated", "derived", "unseeded"};
  return words[static_cast<size_t>(s)];
}
std::string_view word(WeightsRule w) {
  static constexpr std::string_view words[] = {"same-seed", "strict-load", "loose-load"};
  return words[static_cast<size_t>(w)];
}
std::string_view word(ProtocolClock c) {
  static constexpr std::string_view words[] = {"host-unsynchronised", "events", "profiler"};
  return words[static_cast<size_t>(c)];
}
Json json_of(const ToleranceRule& t) { return Json::object({{"atol", t.atol}, {"rtol", t.rtol}}); }

}  // namespace

std::string_view name_of(Protocol protocol) { return kNames[static_cast<size_t>(protocol)]; }

std::optional<Protocol> parse_protocol(std::string_view name) {
  for (Protocol p : all_protocols())
    if (name_of(p) == name) return p;
  return std::nullopt;
}

std::vector<Protocol> all_protocols() {
  std::vector<Protocol> all;
  for (size_t i = 0; i < kNames.size(); ++i) all.push_back(static_cast<Protocol>(i));
  return all;
}

std::vector<std::string> protocol_names() { return {kNames.begin(), kNames.end()}; }

const ProtocolRules& rules_of(Protocol protocol) {
  static const std::array<ProtocolRules, 4> rules = {naive(), kernelbench(), cuda_agent(),
                                                     kernelbench_verified()};
  FIEL_CHECK(protocol != Protocol::strict, "strict is no table of rules");
  return rules[static_cast<size_t>(protocol) - 1];
}

Json to_json(const ProtocolRules& r) {
  Json j = Json::object();
  j["name"] = name_of(r.protocol);
  j["trials"] = r.trials;
  j["seeding"] = word(r.seeding);
  j["seed"] = r.seed;
  j["hidden_scales"] = Json::array();
  for (const double s : r.hidden_scales) j["hidden_scales"].push_back(s);
  j["fp32"] = json_of(r.fp32);
  j["half"] = json_of(r.half);
  j["relative_to"] = r.relative == RelativeTo::candidate ? "candidate" : "reference";
  j["reference_first"] = r.reference_first;
  j["clones_inputs"] = r.clones_inputs;
  j["casts_inputs"] = r.casts_inputs;
  j["shares_namespace"] = r.shares_namespace;
  j["any_structure"] = r.any_structure;
  j["checks_dtype"] = r.checks_dtype;
  j["blocks_functional"] = r.blocks_functional;
  j["stops_at_first"] = r.stops_at_first;
  j["weights"] = word(r.weights);
  j["mode"] = r.mode;
  j["clock"] = word(r.clock);
  j["warmups"] = r.warmups;
  j["discarded"] = r.discarded;
  j["repeats"] = r.repeats;
  j["flushes_l2"] = r.flushes_l2;
  j["compiled_baseline"] = r.compiled_baseline;
  j["tf32_baseline"] = r.tf32_baseline;
  j["peak_memory"] = r.peak_memory;
  return j;
}

bool within(const ToleranceRule& t, RelativeTo relative, double expected, double got) {
  if (std::isnan(expected) || std::isnan(got)) return false;
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  const double scale = std::fabs(relative == RelativeTo::candidate ? got : expected);
  return std::fabs(got - expected) <= t.atol + t.rtol * scale;
}

}  // namespace fiel::judge
