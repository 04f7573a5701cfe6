// What a verdict says about where it was reached.
#pragma once

#include "judge/verdict.h"

namespace fiel::judge {

/// Version, commit, instruction set and host; compiler and device are added by who knows them.
Environment describe_environment();

}  // namespace fiel::judge
