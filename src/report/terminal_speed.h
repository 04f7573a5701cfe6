// The part of a verdict's terminal form that is about time, memory and the machine's limits.
#pragma once

#include <string>

#include "judge/measurement.h"

namespace fiel::report {

/// Empty where nothing was timed and there is nothing to say about it.
std::string render_measurement(const judge::Measurement& measurement);

}  // namespace fiel::report
