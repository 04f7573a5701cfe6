// Where a kernel runs, as users write it: "virtual" or "cuda:N".
//
//   FIEL_TRY(DeviceName name, parse_device_name("cuda:0"));
//
// N counts as CUDA counts, within CUDA_VISIBLE_DEVICES, whatever that variable holds (numbers,
// UUIDs, MIG slices).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fiel::device {

struct DeviceName {
  int cuda = -1;  ///< ordinal; -1 is the virtual GPU
  bool is_cuda() const { return cuda >= 0; }
  bool operator==(const DeviceName&) const = default;
};

Result<DeviceName> parse_device_name(std::string_view text);
std::string to_string(const DeviceName& name);

/// What CUDA_VISIBLE_DEVICES has to be for a process in which `cuda:0` is this machine's cuda:N;
/// `visible` is the variable as it is here, null where it is unset. Empty where there is no N.
std::string visible_alone(int n, const char* visible);

}  // namespace fiel::device
