// Answers that must fail before a kernel is believed: zeros, a constant, an input itself, the right
// answer to other inputs. A task that cannot tell them from the truth is void.
//
//   FIEL_TRY(auto checks, check_task(prepared, accepted));
//   if (const VoidCheck* hole = first_hole(checks)) → VerdictStatus::task_void
#pragma once

#include <string>
#include <vector>

#include "judge/prepared.h"
#include "judge/verdict.h"

namespace fiel::judge {

/// `prepared`: the value probes of one shape. `lowest`: the worst class let pass.
Result<std::vector<VoidCheck>> check_task(const std::vector<Preparation>& prepared,
                                          NumericsClass lowest, const std::string& shape_set);

const VoidCheck* first_hole(const std::vector<VoidCheck>& checks);

}  // namespace fiel::judge
