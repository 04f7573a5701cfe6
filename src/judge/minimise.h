// Makes a failure small: the same probe at the smallest shape that still shows it.
#pragma once

#include "base/result.h"
#include "judge/course.h"

namespace fiel::judge {

/// Looks for smaller symbols at which a fresh process fails in the same way on its first call, and
/// replaces the witness when it finds some. A failure that needs earlier calls keeps its call
/// number instead.
Status minimise(Course& course);

}  // namespace fiel::judge
