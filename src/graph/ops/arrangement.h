// The second half of the shape operators: joining, cutting, padding, repeating, making.
#pragma once

#include <vector>

#include "graph/operators.h"

namespace fiel::graph {
std::vector<Operator> arrangement_operators();
}  // namespace fiel::graph
