// Products of matrices whose factors a kernel must take as they are.
//
//   if (has_plain_products(instance)) …                       // worth a probe of exact factors
//   FIEL_TRY(bool exact, factors_are_tf32(nodes, inputs));    // TF32 has nothing to round here
//
// A kernel may move a scale from behind a product into one of its factors: batch norm into a
// convolution, log2(e) / sqrt(d) into a query, a mean over columns into a weight. What it
// multiplies are then other numbers than the task's, which TF32 rounds even where the task's need
// no rounding. Where nothing behind the products allows that, they are plain.
#pragma once

#include <vector>

#include "base/result.h"
#include "task/node_evaluation.h"
#include "task/task.h"

namespace fiel::task {

/// An f32 output, and products that are all plain.
bool has_plain_products(const Instance& instance);

/// Are the products plain, and do TF32's eleven bits hold every factor of each on these inputs?
Result<bool> factors_are_tf32(const NodeEvaluation& nodes, const std::vector<Tensor>& inputs);

}  // namespace fiel::task
