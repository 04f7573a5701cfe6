// Options and launch settings as bytes on the control channel.
#pragma once

#include "worker/runtime_server.h"
#include "worker/wire.h"

namespace fiel::worker {

void write(WireWriter& w, const vgpu::DeviceOptions& options);
vgpu::DeviceOptions read_device_options(WireReader& r);

void write(WireWriter& w, const RunSettings& settings);
RunSettings read_settings(WireReader& r);

/// Without the callbacks.
void write(WireWriter& w, const vgpu::LaunchRequest& request);
vgpu::LaunchRequest read_launch_request(WireReader& r);

}  // namespace fiel::worker
