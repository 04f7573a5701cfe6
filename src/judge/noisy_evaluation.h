// The reference graph evaluated in float64 with roundings imitated: each floating result is moved
// by a random relative amount, long sums by more. Two evaluations differ by what rounding may do.
//
//   FIEL_TRY(auto moved, evaluate_noisy(graph, types, inputs, {.rounding = 6e-8, .seed = 1}));
//
// Not a model of one particular kernel: it gives the size of honest errors, not their values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace fiel::judge {

struct Noise {
  double rounding = 0;     ///< of every floating input and result, relative
  double accumulate = 0;   ///< of each addition in a sum
  double contraction = 0;  ///< of the operands of matmul, convolution and their kind
  bool systematic = false;  ///< roundings in a sum add up straight instead of as a random walk
  uint64_t seed = 0;
};

Result<std::vector<Tensor>> evaluate_noisy(const graph::Graph& graph,
                                           const std::vector<graph::TensorType>& types,
                                           const std::vector<Tensor>& inputs, const Noise& noise);

bool is_contraction(std::string_view op);

}  // namespace fiel::judge
