// The kernels that the words of a command line name: files, and folders of kernels: .cu and
// .plan.toml, and .py where the task is one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fiel::cli {

struct KernelFiles {
  std::vector<std::string> paths;
  bool several = false;  ///< more than one was asked for, or a folder was named
};
/// A missing file is an error of the user's; a folder without kernels gives none.
Result<KernelFiles> find_kernels(const std::vector<std::string>& words, bool python = false);

}  // namespace fiel::cli
