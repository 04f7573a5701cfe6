// The Python package of the PyTorch workers, embedded in the binary as a zip that Python imports
// from.
//
//   FIEL_TRY(PythonPackage package, python_package());   // written once per version, atomically
//   // sys.path gets package.path: cache_dir()/python/<digest>.zip
//
// $FIEL_WORKER_PYTHON names a source folder instead (one that holds fiel_worker/), for development.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace fiel::worker {

struct PythonPackage {
  std::filesystem::path path;  ///< a zip, or a folder
  std::string digest;          ///< of the embedded bytes; "source" for a folder
};

Result<PythonPackage> python_package();

}  // namespace fiel::worker
