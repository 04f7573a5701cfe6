// The protocols that Fiel judges by: its own, and what others do, each as a table of rules.
//
//   const ProtocolRules& r = rules_of(Protocol::kernelbench);
//   r.trials; r.fp32.atol; to_json(r);              // the worker reads the same table
//
// What the rules re-create, with file and line of the source, is in docs/protocols.md. `strict` has
// no rules here: judge/strict.h and judge/torch/strict.h are its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace fiel::judge {

enum class Protocol : uint8_t { strict, naive, kernelbench, cuda_agent, kernelbench_verified };

std::string_view name_of(Protocol protocol);
std::optional<Protocol> parse_protocol(std::string_view name);
std::vector<std::string> protocol_names();  ///< `strict` first
std::vector<Protocol> all_protocols();

/// Where a trial's inputs come from.
enum class Seeding : uint8_t {
  repeated,  ///< drawn once; every trial gets the same tensors
  derived,   ///< each trial's seed drawn from a public one
  unseeded,  ///< the generator's state goes on, from wherever it was
};
/// How the candidate comes to the reference's weights.
enum class WeightsRule : uint8_t { same_seed, strict_load, loose_load };
/// What the relative part of a tolerance is measured against.
enum class RelativeTo : uint8_t { reference, candidate };
enum class ProtocolClock : uint8_t { host_unsynchronised, events, profiler };

struct ToleranceRule {
  double atol = 0, rtol = 0;
};

struct ProtocolRules {
  Protocol protocol = Protocol::naive;
  std::string_view source;  ///< what is re-created
  // Correctness
  uint32_t trials = 1;
  Seeding seeding = Seeding::repeated;
  uint64_t seed = 0;                  ///< public
  std::vector<double> hidden_scales;  ///< further trials: floating inputs times each, unseeded
  ToleranceRule fp32, half;           ///< half: f16 and bf16
  RelativeTo relative = RelativeTo::reference;
  bool reference_first = true;
  bool clones_inputs = false;      ///< the candidate gets copies
  bool casts_inputs = false;       ///< every input tensor is cast to the precision, integers too
  bool shares_namespace = false;   ///< both sources run in one namespace
  bool any_structure = false;      ///< nested outputs are compared; otherwise one tensor only
  bool checks_dtype = false;       ///< types of outputs must agree
  bool blocks_functional = false;  ///< torch.nn.functional raises inside the candidate's forward
  bool stops_at_first = false;     ///< the first wrong trial ends it
  WeightsRule weights = WeightsRule::same_seed;
  std::string_view mode = "train";
  // Speed
  ProtocolClock clock = ProtocolClock::events;
  uint32_t warmups = 0, discarded = 0, repeats = 1;
  bool flushes_l2 = false;
  bool compiled_baseline = false;
  bool tf32_baseline = false;  ///< and the candidate without
  bool peak_memory = false;    ///< of PyTorch's allocator in one forward
};

/// Not of `strict`.
const ProtocolRules& rules_of(Protocol protocol);

/// What the worker's operation `protocol` is given.
Json to_json(const ProtocolRules& rules);

/// |got - expected| <= atol + rtol * |reference or candidate|, as torch.allclose: NaN is never
/// equal, an infinity only to itself.
bool within(const ToleranceRule& tolerance, RelativeTo relative, double expected, double got);

}  // namespace fiel::judge
