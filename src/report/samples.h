// Raw samples as the store keeps them: a column a quantity, beside the verdict and not in it.
//
//   evidence.samples = samples_json(*verdict.measurement);
//
// {"sides": [{"name", "policy", "calls", "cold", "wall_ns": […], "device_ns": […], "host_ns": […],
//   "lead_ns": […], "credited_ns": […], "sm_clock_mhz": […], "power_mw": […], "throttle": […],
//   "verified": […], "set_aside": […]}]}
#pragma once

#include "base/json.h"
#include "judge/measurement.h"

namespace fiel::report {

Json samples_json(const judge::Measurement& measurement);

}  // namespace fiel::report
