// Finds the Python that has PyTorch, without importing it (that takes seconds).
//
//   FIEL_TRY(PythonEnvironment python, find_python(options.python));   // "" = look for one
//
// Looked for in this order: what the caller names, $FIEL_PYTHON, python3 on PATH (an active virtual
// environment), the environment in Fiel's cache. Answers are remembered for the life of the
// process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace fiel::worker {

struct PythonEnvironment {
  std::filesystem::path executable;  ///< as named: a virtual environment is found by its link
  std::string version;               ///< "3.11.2"
  std::string torch;                 ///< "2.15.0+cu132"
  std::string origin;                ///< "--python", "FIEL_PYTHON", "PATH", "cache"
  /// Every folder that the interpreter and its packages read from: prefixes, standard library,
  /// sys.path. Absolute, existing, none below another.
  std::vector<std::filesystem::path> roots;
};

Result<PythonEnvironment> find_python(const std::string& named = {});
/// What brings one, for messages.
std::string python_remedy();

}  // namespace fiel::worker
