// What a kernel of a native task begins from.
#pragma once

#include <string>

#include "base/result.h"
#include "kernel/skeleton.h"

namespace fiel::cli {

/// Of the file at `path`, with the extents of its first shape set.
Result<kernel::Skeleton> native_skeleton(const std::string& path);

}  // namespace fiel::cli
