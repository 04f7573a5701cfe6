// Random tensors from a counter: element i depends on (seed, stream, i) only, so that any part can
// be made anywhere, in any order, on any number of threads, and always holds the same bits.
//
//   FIEL_TRY(Distribution d, parse_distribution("normal(0,1)"));
//   FIEL_TRY(Tensor x, generate(d, DType::f32, {255, 511}, Stream{seed, 3}));
//
// Values are drawn in f64 and rounded once to the type. Not for secrets that need cryptography:
// Philox is a statistical generator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace fiel {

struct Stream {
  uint64_t seed = 0;
  uint64_t stream_id = 0;  ///< one for each tensor of a run
};

/// Philox4x32 with 10 rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3; SC11).
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);
/// Block `i` of a stream: four words.
std::array<uint32_t, 4> draw(const Stream& stream, uint64_t i);
/// In (0, 1): 53 bits, never 0 or 1.
double uniform01(uint32_t high, uint32_t low);

enum class DistributionKind : uint8_t {
  uniform,      ///< uniform(lo=0, hi=1)
  normal,       ///< normal(mean=0, std=1)
  log_uniform,  ///< log_uniform(lo_exponent=-20, hi_exponent=20): ±2^e, random sign
  mixed_sign,   ///< mixed_sign(scale=1): magnitudes in [scale/4, scale), signs at random
  offset,       ///< offset(mean=1000, std=1): a normal far from zero
  outliers,     ///< outliers(fraction=0.01, magnitude=1000): normal with planted outliers
  ties,         ///< ties(levels=4): few distinct values
  constant,     ///< constant(value)
  one_hot,      ///< one_hot(): one 1 in each row of the last dimension
  special,      ///< special(fraction=0.05): normal with NaN, ±Inf, −0 and subnormals planted
  permutation,  ///< permutation(): each row of the last dimension holds 0 … n−1 once
  indices,      ///< indices(bound): integers in [0, bound)
  mask,         ///< mask(p=0.5): 1 with probability p, else 0
  probability,  ///< probability(): rows of the last dimension positive with sum 1
};

struct Distribution {
  DistributionKind kind = DistributionKind::normal;
  double a = 0, b = 1;  ///< arguments in the order above
};

std::string_view name_of(DistributionKind kind);
std::vector<std::string> distribution_names();
/// "normal", "normal(0, 2.5)". Unknown names are answered with the nearest one.
Result<Distribution> parse_distribution(std::string_view text);
std::string to_string(const Distribution& d);  ///< parses back to the same

/// A contiguous tensor. Fails where the distribution cannot be had in this type or shape (a
/// permutation that the type cannot count, an index bound beyond it).
Result<Tensor> generate(const Distribution& d, DType dtype, Shape shape, const Stream& stream,
                        uint32_t threads = 0);

}  // namespace fiel
