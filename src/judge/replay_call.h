// Which call is to be made again: what its inputs and weights were drawn from.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "judge/codes.h"

namespace fiel::judge {

struct ReplayCall {
  Probe probe{};
  uint32_t variant = 0;
  uint64_t seed = 0;
  double amplitude = 1;
  std::string shape_set;
  std::map<std::string, int64_t> symbols;  ///< of a native task
  std::string weights;                     ///< of a PyTorch task: "given" or a seed
};

}  // namespace fiel::judge
