// fiel doctor --calibrate: what a device can do at most, and how far the clock can be trusted
// there.
#pragma once

#include "cli/command.h"

namespace fiel::cli {

/// Measures, keeps the figures for later judgements, prints them. Exit code 3 where the clock does
/// not find a program as fast as itself.
Result<int> calibrate(const Arguments& arguments, const Context& context);

}  // namespace fiel::cli
