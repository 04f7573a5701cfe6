// What a call's outcome means for the verdict: the rule that turns what happened into a status.
// docs/verdicts.md#rules lists it; each line of it is a case in interpret.cpp.
#pragma once

#include "judge/rig.h"

namespace fiel::judge {

/// Fills call.status, fault, breach, findings and the counters from what the session reports.
void interpret(const worker::CallOutcome& outcome, const CallOptions& options, Call& call);

/// Status of an ERROR finding of the virtual GPU: what a GPU would stop at is a runtime error, an
/// exhausted budget a timeout, and what leaves values undefined is incorrect, right values or not.
VerdictStatus status_of(vgpu::FindingKind kind);

}  // namespace fiel::judge
