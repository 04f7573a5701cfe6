// The call that `fiel profile` makes, on whatever device: which shapes, which inputs.
#pragma once

#include <vector>

#include "cli/arguments.h"
#include "cli/saved_call.h"
#include "task/task.h"
#include "tensor/tensor.h"

namespace fiel::cli {

/// Of the task file, or those of --shapes; none is generated.
Result<std::vector<task::ShapeSet>> profiled_shapes(const task::Task& task,
                                                    const Arguments& arguments);
Result<std::vector<Tensor>> profiled_inputs(const task::Instance& at, uint64_t seed);

}  // namespace fiel::cli
