// Changing resolution: interpolate, and patches (unfold, fold).
#pragma once

#include <vector>

#include "graph/operators.h"

namespace fiel::graph {
std::vector<Operator> resampling_operators();
}  // namespace fiel::graph
