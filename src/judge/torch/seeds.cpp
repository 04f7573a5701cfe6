#include "judge/torch/seeds.h"

#include <fmt/core.h>

#include <cstdlib>

#include "base/hash.h"

namespace fiel::judge::torch {

uint64_t init_seed(uint64_t seed) {
  const std::string digest = sha256_hex(fmt::format("constructor {}", seed));
  // 31 bits: what every library takes for a seed.
  return std::strtoull(digest.substr(0, 8).c_str(), nullptr, 16) & 0x7fffffff;
}

}  // namespace fiel::judge::torch
