// What the loss rows share: the `reduction` argument.
#pragma once

#include <vector>

#include "graph/types.h"
#include "graph/value.h"

namespace fiel::graph {

Status check_reduction(const Call& c, bool batchmean);
/// `shape` with reduction none, else rank 0.
Result<Types> reduced_loss(const Call& c, DType dtype, Shape shape);
/// The values each, their sum, or their sum over divisor.
std::vector<Value> reduce_loss(const Evaluation& e, Value each, double divisor);

std::vector<Operator> class_loss_operators();  ///< losses over classes
std::vector<Operator> distance_operators();    ///< distances and the losses made of them

}  // namespace fiel::graph
