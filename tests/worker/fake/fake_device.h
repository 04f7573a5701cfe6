// A device that needs no PTX execution: kernels are C++ functions chosen by their name. It lets the
// runtime server, the channels and the sessions be tested apart from the virtual GPU.
//
// Kernels: a name that contains "twice" does y[i] = 2 x[i] + 1 of (x, y, n); "spin" runs until it
// is cancelled; "fault" stops with an out-of-bounds finding; any other does nothing.
#pragma once

#include <memory>

#include "vgpu/device.h"

namespace fiel::worker {

Result<std::unique_ptr<vgpu::Device>> make_fake_device(const vgpu::DeviceOptions& options);

}  // namespace fiel::worker
