// What a kernel used beside time: memory of each side, and whose kernels did the work.
//
//   record_accounts(course, contestants, c);            // fills memory and kernels
//   if (auto why = track_violation(measurement.kernels, track)) …    // policy_violation
//
// The launched kernels come from a profiler in the candidate's own process: they tell an honest
// author which track a kernel belongs to, and prove nothing against a forger.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/torch/contestants.h"

namespace fiel::judge::torch {

Status record_accounts(TorchCourse& course, std::vector<Contestant>& all, const Case& c);

/// Why the launched kernels do not belong to the track; nothing where they do or none were seen.
std::optional<std::string> track_violation(const std::vector<KernelEvidence>& kernels, Track track);

/// A right kernel of whose kernels nothing is known belongs to a track unseen: a warning says so.
void note_unjudged_track(const TorchRequest& request, Verdict& verdict);

}  // namespace fiel::judge::torch
