// What a verdict says about speed, memory and the machine's limits: filled on a GPU only.
//
//   if (verdict.measurement) show(verdict.measurement->headline);
//
// Times are nanoseconds of one call. A ratio above 1 means that the kernel is faster. Nothing here
// decides a status but `timing_invalid`; judge/timing.h makes these from samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tensor/compare.h"

namespace fiel::judge {

/// One timed call, or a batch of `calls`, as the clock saw it.
struct TimeSample {
  uint32_t round = 0;
  double wall_ns = 0;    ///< the judge's clock, the whole sample
  double device_ns = 0;  ///< the runner's claim a call
  double host_ns = 0;    ///< the runner's claim a call: until the call returned
  double lead_ns = 0;  ///< of the wall time, before the device had work; only of our own host code
  double tail_ns = 0;  ///< a look at the outputs once more, after the wall time
  uint32_t sm_clock_mhz = 0, power_mw = 0;
  uint64_t throttle = 0;  ///< NVML's clock event reasons
  bool verified = false;  ///< its outputs were compared in full
  // Made by credit():
  double credited_ns = 0;  ///< a call
  bool set_aside = false;  ///< throttled, or at a clock far below the others
};

/// When a time was taken that was not taken for this verdict.
struct CachedTime {
  int64_t measured_ms = 0;  ///< since 1970
  int64_t age_ms = 0;       ///< when the verdict was reached
};

/// One side (the kernel, or a baseline) under one policy.
struct TimedSide {
  std::string name;         ///< "kernel", "eager", "compile", "reduce-overhead", "max-autotune"
  std::string policy;       ///< "fp32", "default", "tf32", "bf16", "fp16"; of the kernel: ""
  std::string unavailable;  ///< why there is no time; empty where there is one
  uint32_t calls_a_sample = 1;
  bool cold = true;    ///< L2 flushed before each sample
  bool graph = false;  ///< replayed as a CUDA graph
  bool held = false;   ///< queued before the clock started: device time alone (docs/timing.md)
  std::vector<TimeSample> samples;
  double median_ns = 0, low_ns = 0, high_ns = 0;  ///< credited time and its 95 % interval
  double device_median_ns = 0, host_median_ns = 0, wall_median_ns = 0;
  double gap_ns = 0;                   ///< wall that an honest side needs beside its device time
  std::string gap_from = "baselines";  ///< whose: theirs, or "gauge", a kernel of ours in its place
  bool events_believed = true;         ///< its device times agree with the judge's clock
  uint32_t samples_set_aside = 0;
  std::optional<NumericsClass> numerics;
  double relative_rms = 0, componentwise = 0;  ///< worst error over the probes
  std::optional<CachedTime> cached;            ///< of a baseline that was spared
};

enum class SpeedDecision : uint8_t { faster, same, slower, ambiguous, not_measured };
std::string_view name_of(SpeedDecision decision);

/// Kernel against one side: median of ratios paired by round, 95 % interval that holds however
/// often it was looked at.
struct Ratio {
  std::string against, policy;  ///< a side's name and policy
  double value = 0, low = 0, high = 0;
  uint32_t rounds = 0;  ///< that hold both sides
  SpeedDecision decision = SpeedDecision::not_measured;
  bool comparable = false;  ///< the side is at least as accurate as the kernel
  bool cached = false;      ///< against a cached time: not paired, and never the headline
};

struct MemoryUse {
  uint64_t kernel_peak_bytes = 0, baseline_peak_bytes = 0;              ///< both of the following
  uint64_t kernel_persistent_bytes = 0, baseline_persistent_bytes = 0;  ///< after set-up
  /// Of one call, as the device saw it while that side ran alone; without the judge's windows.
  uint64_t kernel_transient_bytes = 0, baseline_transient_bytes = 0;
  uint64_t kernel_allocator_peak_bytes = 0, baseline_allocator_peak_bytes = 0;  ///< PyTorch's own
  double efficiency = 0;  ///< baseline peak / kernel peak; 0 when unknown
  bool baseline_cached = false;
  double setup_ms = 0;
};

struct Floor {
  double bytes = 0, operations = 0;
  double memory_ns = 0, arithmetic_ns = 0, launch_ns = 0;  ///< from the calibration
  double floor_ns = 0;                                     ///< the largest
  double light_share = 0;  ///< floor / kernel's time: share of the speed of light
  std::string bound_by;    ///< "memory", "arithmetic", "launch"
};

/// What the kernel really launched, from a pass of its own.
struct KernelEvidence {
  std::string name, origin;  ///< "own", "library", "framework"
  uint64_t launches = 0;
  double device_ns = 0;
  bool tensor_core = false;
};

/// The kernels of one call, as the profiler or the device told them.
struct LaunchedKernels {
  std::vector<KernelEvidence> kernels;
  uint64_t graph_launches = 0;
  std::string missing;  ///< why there are none; empty where there are some
};

/// Own kernels' share of the device time, of the launches where no device times are known; none
/// where no kernel was seen.
std::optional<double> own_share(const std::vector<KernelEvidence>& kernels);

/// What became of the times of earlier judgements (docs/timing.md#cached-baselines).
struct BaselineCacheUse {
  enum class Outcome : uint8_t {
    measured,   ///< every baseline anew
    cached,     ///< some are shown from the cache
    discarded,  ///< as `measured`, after what was cached had been found not to hold
  };
  std::string mode = "off";  ///< "use", "refresh", "off"
  Outcome outcome = Outcome::measured;
  std::string why;    ///< for measured and discarded
  std::string key;    ///< SHA-256 of what the times depend on; empty where the cache is off
  bool kept = false;  ///< these times are there for later judgements
};
std::string_view name_of(BaselineCacheUse::Outcome outcome);

struct Measurement {
  std::string shape_set;           ///< where; "given": a PyTorch task's own shapes
  std::vector<TimedSide> sides;    ///< the kernel first
  std::vector<Ratio> ratios;       ///< one a baseline
  std::optional<size_t> headline;  ///< index into ratios: fastest comparable baseline
  SpeedDecision speed = SpeedDecision::not_measured;
  std::string why;  ///< for ambiguous and not_measured
  MemoryUse memory;
  std::optional<Floor> floor;
  LaunchedKernels launched{{}, 0, "no call was looked at"};
  uint64_t samples_verified = 0, samples = 0;
  BaselineCacheUse baseline_cache;
  int reward = 0;  ///< −1 wrong, 1 right, 2 > 5 % faster than eager, 3 also than compile
};

Json to_json(const Measurement& measurement, bool with_samples);

}  // namespace fiel::judge
