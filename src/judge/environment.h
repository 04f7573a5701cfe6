// What a verdict says about where it was reached.
#pragma once

#include "device/cuda_driver.h"
#include "device/device_name.h"
#include "judge/verdict.h"

namespace fiel::judge {

/// Version, commit, instruction set and host; compiler and device are added by who knows them.
Environment describe_environment();

/// Adds the GPU; an error says why there is none.
Result<device::GpuInfo> describe_gpu(const device::DeviceName& name, Environment& environment);

}  // namespace fiel::judge
