#include "graph/operators.h"

namespace fiel::graph {
std::vector<Operator> indexing_operators() { return {}; }
}  // namespace fiel::graph
