#include "graph/operators.h"

namespace fiel::graph {
std::vector<Operator> attention_operators() { return {}; }
}  // namespace fiel::graph
