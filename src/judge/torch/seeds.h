// Seeds that a candidate may see must not lead back to those that it may not.
#pragma once

#include <cstdint>

namespace fiel::judge::torch {

/// The constructors' seed, which both sides know. One way: a digest, not a mixing function.
uint64_t init_seed(uint64_t seed);

}  // namespace fiel::judge::torch
