// fiel profile on a GPU: what ncu counts, or, where it cannot, what the judge measures.
#pragma once

#include "cli/arguments.h"
#include "cli/command.h"
#include "device/device_name.h"

namespace fiel::cli {

/// TASK KERNEL of the words; the kernel runs in the judge's sandbox alone.
Result<int> profile_on_gpu(const Arguments& arguments, const Context& context,
                           const device::DeviceName& device);

}  // namespace fiel::cli
