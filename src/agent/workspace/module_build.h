// What the author of a PyTorch module is told of its build: imported, its extensions compiled and
// ModelNew constructed, in the sandbox in which it is judged. No forward is called.
//
//   Feedback f = module_build_feedback({.kernel = "kernel.py", .task = "task.py"});
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "agent/workspace/feedback.h"

namespace fiel::agent {

struct ModuleBuild {
  std::filesystem::path kernel;  ///< a .py or a work folder
  std::filesystem::path task;    ///< its arguments of the constructor are used
  std::string python;            ///< as --python
  std::string device;            ///< as --device; empty: the GPU that is there, else the CPU
  int64_t timeout_ms = 600'000;
};

Feedback module_build_feedback(const ModuleBuild& build);

}  // namespace fiel::agent
