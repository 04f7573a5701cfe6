// Products of values, shared by the rows that multiply matrices.
#pragma once

#include <vector>

#include "graph/operators.h"
#include "graph/value.h"

namespace fiel::graph {

/// [batch…, m, k] · [batch…, k, n] with broadcast batches; integers exactly (wrapped to dtype).
Value matrix_product(const Value& a, const Value& b, DType dtype, uint32_t threads);

/// a + b broadcast, in the result's type; integers wrap.
Value add_values(const Evaluation& e, const Value& a, const Value& b, const TensorType& type);

std::vector<Operator> einsum_operators();

}  // namespace fiel::graph
