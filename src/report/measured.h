// What a verdict's JSON says about speed and memory, read leniently: from the store, from other
// versions, or absent.
//
//   if (const auto m = measured_of(verdict)) show(m->headline());
//
// A ratio or a time that is not a finite number above zero counts as not measured: no score is ever
// shown as 0.000, inf or nan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace fiel::report {

struct MeasuredSide {
  std::string name, policy, unavailable;
  std::optional<double> median_ns, low_ns, high_ns;
  std::optional<double> device_median_ns, host_median_ns, wall_median_ns;
  bool graph = false, cold = true;
  bool cached = false;  ///< taken in an earlier judgement
};
/// "cold", "warm" or "graph": with caches flushed, as they were left, or launches replayed.
std::string timing_mode(const MeasuredSide& side);
/// " (warm)", " (graph)", or nothing for the usual one: beside every time and ratio that is shown.
std::string mode_suffix(const MeasuredSide& side);

struct MeasuredRatio {
  std::string against, policy, decision;
  double value = 0, low = 0, high = 0;
  bool comparable = false;
  bool cached = false;  ///< against such a time
};

struct MeasuredKernel {
  std::string name, origin;
  uint64_t launches = 0;
  std::optional<double> device_ns;
  bool tensor_core = false;
};

struct Measured {
  std::vector<MeasuredSide> sides;
  std::vector<MeasuredRatio> ratios;  ///< only those with a number
  std::optional<MeasuredRatio> headline;
  std::string shape_set;  ///< of a native task; a PyTorch task's own shapes are "given"
  std::string speed, why;
  std::optional<double> kernel_peak_bytes, baseline_peak_bytes;
  std::optional<double> kernel_persistent_bytes, baseline_persistent_bytes;
  std::optional<double> memory_efficiency, setup_ms;
  std::optional<double> floor_ns, memory_ns, arithmetic_ns, launch_ns, bytes, operations;
  std::optional<double> light_share;
  std::string bound_by;
  std::vector<MeasuredKernel> kernels;
  std::optional<double> own_share;  ///< 0 .. 1
  std::string evidence_missing;
};

/// The kernel's, where there is one.
std::string mode_suffix(const Measured& measured);

std::optional<Measured> measured_of(const Json& verdict);

/// -1, 1, 2 or 3; none where nothing was judged.
std::optional<int64_t> reward_of(const Json& verdict);

/// The sides of `samples` as the store keeps them: one number a sample, credited to one call.
struct SideSamples {
  std::string name, policy;
  std::vector<double> wall_ns, device_ns, host_ns;
  std::vector<double> credited_ns;  ///< without the samples that the judge set aside
};
std::vector<SideSamples> samples_of(const Json& samples);

}  // namespace fiel::report
