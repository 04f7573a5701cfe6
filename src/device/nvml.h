// NVML, found at run time: clocks, power and throttling beside times; the driver's version.
//
//   FIEL_TRY(auto nvml, Nvml::open());
//   FIEL_TRY(auto state, nvml->state(gpu.uuid));      // while it works: about 20 µs
//
// GPUs are named by UUID: NVML counts differently from CUDA where CUDA_VISIBLE_DEVICES is set.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace fiel::device {

struct GpuState {
  uint32_t sm_clock_mhz = 0, memory_clock_mhz = 0;
  uint32_t power_mw = 0, temperature_c = 0;
  uint64_t throttle = 0;  ///< NVML's clock event reasons, bits
  uint64_t memory_used_bytes = 0, memory_total_bytes = 0;
};

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";
  static Result<std::shared_ptr<Nvml>> open(const char* library = kLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  const std::string& driver_version() const { return driver_version_; }  ///< "580.159.04"
  /// What a field's function does not answer stays 0.
  Result<GpuState> state(const std::string& uuid) const;

 private:
  Nvml() = default;
  struct Functions;
  std::unique_ptr<Functions> f_;
  std::string driver_version_;
};

/// Words for the bits of GpuState::throttle: "power cap", "thermal"; empty when none slows it.
std::string throttle_text(uint64_t reasons);

}  // namespace fiel::device
