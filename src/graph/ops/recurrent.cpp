#include "graph/operators.h"

namespace fiel::graph {
std::vector<Operator> recurrent_operators() { return {}; }
}  // namespace fiel::graph
