#include "judge/measurement.h"

namespace fiel::judge {
namespace {

Json sample_json(const TimeSample& s) {
  Json j = Json::object();
  j["round"] = s.round;
  j["wall_ns"] = s.wall_ns;
  j["device_ns"] = s.device_ns;
  j["host_ns"] = s.host_ns;
  j["lead_ns"] = s.lead_ns;
  j["credited_ns"] = s.credited_ns;
  j["sm_clock_mhz"] = s.sm_clock_mhz;
  j["power_mw"] = s.power_mw;
  j["throttle"] = s.throttle;
  j["verified"] = s.verified;
  j["set_aside"] = s.set_aside;
  return j;
}

Json side_json(const TimedSide& s, bool with_samples) {
  Json j = Json::object();
  j["name"] = s.name;
  j["policy"] = s.policy;
  j["unavailable"] = s.unavailable;
  j["calls_a_sample"] = s.calls_a_sample;
  j["cold"] = s.cold;
  j["graph"] = s.graph;
  j["held"] = s.held;
  j["median_ns"] = s.median_ns;
  j["low_ns"] = s.low_ns;
  j["high_ns"] = s.high_ns;
  j["device_median_ns"] = s.device_median_ns;
  j["host_median_ns"] = s.host_median_ns;
  j["wall_median_ns"] = s.wall_median_ns;
  j["gap_ns"] = s.gap_ns;
  j["gap_from"] = s.gap_from;
  j["events_believed"] = s.events_believed;
  j["samples"] = s.samples.size();
  j["samples_set_aside"] = s.samples_set_aside;
  j["numerics"] = s.numerics ? Json(fiel::name_of(*s.numerics)) : Json();
  j["relative_rms"] = s.relative_rms;
  j["componentwise"] = s.componentwise;
  j["cached"] =
      s.cached
          ? Json::object({{"measured_ms", s.cached->measured_ms}, {"age_ms", s.cached->age_ms}})
          : Json();
  if (!with_samples) return j;
  j["raw_samples"] = Json::array();
  for (const TimeSample& t : s.samples) j["raw_samples"].push_back(sample_json(t));
  return j;
}

Json ratio_json(const Ratio& r) {
  Json j = Json::object();
  j["against"] = r.against;
  j["policy"] = r.policy;
  j["value"] = r.value;
  j["low"] = r.low;
  j["high"] = r.high;
  j["rounds"] = r.rounds;
  j["decision"] = name_of(r.decision);
  j["comparable"] = r.comparable;
  j["cached"] = r.cached;
  return j;
}

Json memory_json(const MemoryUse& m) {
  Json j = Json::object();
  j["kernel_peak_bytes"] = m.kernel_peak_bytes;
  j["baseline_peak_bytes"] = m.baseline_peak_bytes;
  j["kernel_persistent_bytes"] = m.kernel_persistent_bytes;
  j["baseline_persistent_bytes"] = m.baseline_persistent_bytes;
  j["kernel_transient_bytes"] = m.kernel_transient_bytes;
  j["baseline_transient_bytes"] = m.baseline_transient_bytes;
  j["kernel_allocator_peak_bytes"] = m.kernel_allocator_peak_bytes;
  j["baseline_allocator_peak_bytes"] = m.baseline_allocator_peak_bytes;
  j["efficiency"] = m.efficiency;
  j["baseline_cached"] = m.baseline_cached;
  j["setup_ms"] = m.setup_ms;
  return j;
}

Json floor_json(const Floor& f) {
  Json j = Json::object();
  j["bytes"] = f.bytes;
  j["operations"] = f.operations;
  j["memory_ns"] = f.memory_ns;
  j["arithmetic_ns"] = f.arithmetic_ns;
  j["launch_ns"] = f.launch_ns;
  j["floor_ns"] = f.floor_ns;
  j["light_share"] = f.light_share;
  j["bound_by"] = f.bound_by;
  return j;
}

Json kernel_json(const KernelEvidence& k) {
  Json j = Json::object();
  j["name"] = k.name;
  j["origin"] = k.origin;
  j["launches"] = k.launches;
  j["device_ns"] = k.device_ns;
  j["tensor_core"] = k.tensor_core;
  return j;
}

Json cache_json(const BaselineCacheUse& c) {
  Json j = Json::object();
  j["mode"] = c.mode;
  j["outcome"] = name_of(c.outcome);
  j["why"] = c.why;
  j["key"] = c.key;
  j["kept"] = c.kept;
  return j;
}

}  // namespace

std::optional<double> own_share(const std::vector<KernelEvidence>& kernels) {
  double own_ns = 0, all_ns = 0, own = 0, all = 0;
  for (const KernelEvidence& k : kernels) {
    const bool is_own = k.origin == "own";
    all_ns += k.device_ns;
    all += static_cast<double>(k.launches);
    if (is_own) own_ns += k.device_ns;
    if (is_own) own += static_cast<double>(k.launches);
  }
  if (all_ns > 0) return own_ns / all_ns;
  if (all > 0) return own / all;
  return std::nullopt;
}

std::string_view name_of(BaselineCacheUse::Outcome outcome) {
  static constexpr std::string_view names[] = {"measured", "cached", "discarded"};
  return names[static_cast<size_t>(outcome)];
}

std::string_view name_of(SpeedDecision decision) {
  static constexpr std::string_view names[] = {"faster", "same", "slower", "ambiguous",
                                               "not_measured"};
  return names[static_cast<size_t>(decision)];
}

Json to_json(const Measurement& m, bool with_samples) {
  Json j = Json::object();
  j["shape_set"] = m.shape_set;
  j["speed"] = name_of(m.speed);
  j["why"] = m.why;
  j["reward"] = m.reward;
  j["headline"] = m.headline ? Json(*m.headline) : Json();
  j["ratios"] = Json::array();
  for (const Ratio& r : m.ratios) j["ratios"].push_back(ratio_json(r));
  j["sides"] = Json::array();
  for (const TimedSide& s : m.sides) j["sides"].push_back(side_json(s, with_samples));
  j["memory"] = memory_json(m.memory);
  j["floor"] = m.floor ? floor_json(*m.floor) : Json();
  j["kernels"] = Json::array();
  for (const KernelEvidence& k : m.launched.kernels) j["kernels"].push_back(kernel_json(k));
  const std::optional<double> own = own_share(m.launched.kernels);
  j["own_share"] = own ? Json(*own) : Json();
  j["graph_launches"] = m.launched.graph_launches;
  j["evidence_missing"] = m.launched.missing;
  j["baseline_cache"] = cache_json(m.baseline_cache);
  j["samples"] = m.samples;
  j["samples_verified"] = m.samples_verified;
  return j;
}

}  // namespace fiel::judge
