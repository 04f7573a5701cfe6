// A helper process of ours, seen through the same interface as a candidate's: no sandbox, our own
// environment, its own process group, and it dies with the thread that started it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/spawn.h"

namespace fiel::worker {

struct TrustedRequest {
  std::vector<std::string> arguments;                          ///< [0] is a path
  std::vector<std::pair<std::string, std::string>> variables;  ///< beside our own environment
  int descriptor = -1;                                         ///< becomes 3 in it
};

/// Child::output keeps the end of what it prints (64 KiB): it is read for the last words of a
/// crash.
Result<std::unique_ptr<sandbox::Child>> start_trusted(const TrustedRequest& request);

}  // namespace fiel::worker
