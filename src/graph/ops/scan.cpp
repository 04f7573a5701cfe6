#include "graph/operators.h"

namespace fiel::graph {
std::vector<Operator> scan_operators() { return {}; }
}  // namespace fiel::graph
