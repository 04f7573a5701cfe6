// What evaluation needs of type inference: each node's type and its call, arguments resolved.
#pragma once

#include <vector>

#include "graph/operators.h"

namespace fiel::graph {

struct Calls {
  std::vector<TensorType> types;
  std::vector<Call> calls;  ///< by node; op is null for inputs, constants and none
};
Result<Calls> infer_calls(const Graph& graph, const std::vector<TensorType>& inputs);

}  // namespace fiel::graph
