#include "report/measured.h"

#include <cmath>

namespace fiel::report {
namespace {

std::optional<double> positive(const Json& j) {
  const double v = j.as_double(0);
  if (!j.is_number() || !std::isfinite(v) || v <= 0) return std::nullopt;
  return v;
}

MeasuredSide side_of(const Json& j) {
  MeasuredSide s;
  s.name = j["name"].as_string();
  s.policy = j["policy"].as_string();
  s.unavailable = j["unavailable"].as_string();
  s.median_ns = positive(j["median_ns"]);
  s.low_ns = positive(j["low_ns"]);
  s.high_ns = positive(j["high_ns"]);
  s.device_median_ns = positive(j["device_median_ns"]);
  s.host_median_ns = positive(j["host_median_ns"]);
  s.wall_median_ns = positive(j["wall_median_ns"]);
  s.graph = j["graph"].as_bool();
  s.cold = j["cold"].as_bool(true);
  s.cached = j["cached"].is_object();
  return s;
}

std::optional<MeasuredRatio> ratio_of(const Json& j) {
  const auto value = positive(j["value"]);
  if (!value) return std::nullopt;
  MeasuredRatio r;
  r.against = j["against"].as_string();
  r.policy = j["policy"].as_string();
  r.decision = j["decision"].as_string();
  r.value = *value;
  r.low = positive(j["low"]).value_or(*value);
  r.high = positive(j["high"]).value_or(*value);
  r.comparable = j["comparable"].as_bool();
  r.cached = j["cached"].as_bool();
  return r;
}

void read_memory(const Json& j, Measured& m) {
  m.kernel_peak_bytes = positive(j["kernel_peak_bytes"]);
  m.baseline_peak_bytes = positive(j["baseline_peak_bytes"]);
  m.kernel_persistent_bytes = positive(j["kernel_persistent_bytes"]);
  m.baseline_persistent_bytes = positive(j["baseline_persistent_bytes"]);
  m.memory_efficiency = positive(j["efficiency"]);
  m.setup_ms = positive(j["setup_ms"]);
}

void read_floor(const Json& j, Measured& m) {
  m.floor_ns = positive(j["floor_ns"]);
  m.memory_ns = positive(j["memory_ns"]);
  m.arithmetic_ns = positive(j["arithmetic_ns"]);
  m.launch_ns = positive(j["launch_ns"]);
  m.bytes = positive(j["bytes"]);
  m.operations = positive(j["operations"]);
  m.light_share = positive(j["light_share"]);
  m.bound_by = j["bound_by"].as_string();
}

std::vector<double> numbers(const Json& j, const Json& set_aside = Json()) {
  std::vector<double> values;
  for (size_t i = 0; i < j.items().size(); ++i) {
    const bool aside = i < set_aside.items().size() && set_aside.items()[i].as_bool();
    if (const auto x = positive(j.items()[i]); x && !aside) values.push_back(*x);
  }
  return values;
}

}  // namespace

std::string timing_mode(const MeasuredSide& side) {
  return side.graph ? "graph" : side.cold ? "cold" : "warm";
}

std::string mode_suffix(const MeasuredSide& side) {
  const std::string mode = timing_mode(side);
  return mode == "cold" ? "" : " (" + mode + ")";
}

std::string mode_suffix(const Measured& measured) {
  return measured.sides.empty() ? "" : mode_suffix(measured.sides.front());
}

std::optional<Measured> measured_of(const Json& verdict) {
  const Json& j = verdict["measurement"];
  if (!j.is_object()) return std::nullopt;
  Measured m;
  for (const Json& side : j["sides"].items()) m.sides.push_back(side_of(side));
  const Json& headline = j["headline"];
  for (size_t i = 0; i < j["ratios"].items().size(); ++i) {
    const auto ratio = ratio_of(j["ratios"].items()[i]);
    if (!ratio) continue;
    m.ratios.push_back(*ratio);
    if (headline.is_integer() && headline.as_int() == static_cast<int64_t>(i)) m.headline = ratio;
  }
  if (headline.is_object()) m.headline = ratio_of(headline);
  m.shape_set = j["shape_set"].as_string();
  m.speed = j["speed"].as_string();
  m.why = j["why"].as_string();
  read_memory(j["memory"], m);
  read_floor(j["floor"], m);
  for (const Json& k : j["kernels"].items())
    m.kernels.push_back({k["name"].as_string(), k["origin"].as_string(),
                         static_cast<uint64_t>(std::max<int64_t>(k["launches"].as_int(), 0)),
                         positive(k["device_ns"]), k["tensor_core"].as_bool()});
  if (const double own = j["own_share"].as_double(-1); own >= 0 && own <= 1) m.own_share = own;
  m.evidence_missing = j["evidence_missing"].as_string();
  return m;
}

std::optional<int64_t> reward_of(const Json& verdict) {
  if (!verdict["reward"].is_integer()) return std::nullopt;
  return verdict["reward"].as_int();
}

std::vector<SideSamples> samples_of(const Json& samples) {
  std::vector<SideSamples> sides;
  for (const Json& j : samples["sides"].items()) {
    SideSamples s;
    s.name = j["name"].as_string();
    s.policy = j["policy"].as_string();
    s.wall_ns = numbers(j["wall_ns"]);
    s.device_ns = numbers(j["device_ns"]);
    s.host_ns = numbers(j["host_ns"]);
    s.credited_ns = numbers(j["credited_ns"], j["set_aside"]);
    sides.push_back(std::move(s));
  }
  return sides;
}

}  // namespace fiel::report
