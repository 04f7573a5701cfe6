// Copies of what a confined runner may read: the candidate, the task file, Fiel's package.
//
// Copies, so that nothing else of their folders is seen, that what is judged cannot change
// meanwhile, and that a user who may not look into yours can read them.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace fiel::worker {

/// Paths relative to the stage.
struct CandidateFiles {
  std::filesystem::path candidate, task, package;
};

/// Bounds: 64 MiB and 4,096 files. Links are not followed out of a candidate's folder: they are
/// left out.
Result<CandidateFiles> stage_candidate(const std::filesystem::path& stage,
                                       const std::filesystem::path& candidate,
                                       const std::filesystem::path& task,
                                       const std::filesystem::path& package);

}  // namespace fiel::worker
