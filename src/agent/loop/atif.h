// A trajectory as ATIF, the Agent Trajectory Interchange Format of the Harbor tools.
//
//   write_file_atomic("run.json", to_atif(trajectory).dump(1));
//
// One JSON document. Results stand in the step that called for them; a call whose arguments were no
// object has empty ones there, and its text beside them.
#pragma once

#include "agent/loop/trajectory.h"
#include "base/json.h"

namespace fiel::agent {

/// The first version that has all the fields that are written.
inline constexpr const char* kAtifVersion = "ATIF-v1.4";

Json to_atif(const Trajectory& trajectory);

}  // namespace fiel::agent
