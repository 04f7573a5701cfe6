// Launch reports, coverage and kernel descriptions as bytes between the device process and the
// judge. Both ends are ours; the reader checks everything all the same, because the device process
// executes hostile kernels.
#pragma once

#include "worker/bare_session.h"
#include "worker/wire.h"

namespace fiel::worker {

void write(WireWriter& w, const CallOutcome& outcome);
CallOutcome read_outcome(WireReader& r);

void write(WireWriter& w, const ClockOutcome& outcome);
ClockOutcome read_clock_outcome(WireReader& r);

/// Only the tensors and what is timed.
void write(WireWriter& w, const CallRequest& request);
CallRequest read_call_request(WireReader& r);

void write(WireWriter& w, const vgpu::LaunchReport& report);
vgpu::LaunchReport read_report(WireReader& r);

void write(WireWriter& w, const vgpu::KernelInfo& info);
vgpu::KernelInfo read_kernel(WireReader& r);

void write(WireWriter& w, const vgpu::Coverage& coverage);
vgpu::Coverage read_coverage(WireReader& r);

void write(WireWriter& w, const DeviceTensor& tensor);
DeviceTensor read_tensor(WireReader& r);

}  // namespace fiel::worker
