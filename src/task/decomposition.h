// Normalisations written out in primitive operators, for perturbed evaluation.
//
//   FIEL_TRY(graph::Graph plain, decompose(graph, input_types));
//
// layer_norm subtracts a rounded mean. Perturbing its inputs does not show that error: a shift of
// all inputs cancels, and a row of two elements gives plus and minus one whatever they are. Written
// out, the mean is a result of its own and is perturbed as one. Values stay the same.
#pragma once

#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace fiel::task {

Result<graph::Graph> decompose(const graph::Graph& graph,
                               const std::vector<graph::TensorType>& inputs);

}  // namespace fiel::task
