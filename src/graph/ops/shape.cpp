#include "graph/operators.h"

namespace fiel::graph {
std::vector<Operator> shape_operators() { return {}; }
}  // namespace fiel::graph
