// What a kernel of a PyTorch task begins from: only PyTorch knows its shapes.
#pragma once

#include <string>

#include "base/result.h"
#include "kernel/skeleton.h"

namespace fiel::cli {

/// Asked of the task itself, on the CPU, with the Python of `python` (as --python).
Result<kernel::Skeleton> torch_skeleton(const std::string& path, const std::string& python);

}  // namespace fiel::cli
