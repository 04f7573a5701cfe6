#include "graph/ops/matrix.h"

namespace fiel::graph {
std::vector<Operator> einsum_operators() { return {}; }
}  // namespace fiel::graph
