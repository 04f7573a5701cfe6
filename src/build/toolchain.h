// Finds nvcc: an installed toolkit, or PyPI's wheels in a folder of ours.
//
//   FIEL_TRY(Toolchain cuda, find_toolchain());   // the error says where it looked and what helps
//
// Looked for in this order: $FIEL_NVCC, $CUDA_HOME, $CUDA_PATH, PATH, /usr/local/cuda,
// /usr/local/cuda-* (the newest release first), $FIEL_CUDA_WHEELS, cache_dir()/cuda.
// FIEL_HIDE_CUDA=1 skips all but the wheels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace fiel::build {

struct Toolchain {
  std::filesystem::path nvcc;
  std::filesystem::path root;  ///< the toolkit's folder, symbolic links resolved
  std::string version;         ///< "13.0.88"
  int major = 0, minor = 0;
  std::string origin;  ///< "CUDA_HOME", "PyPI wheels in …"
};

/// `installed` is the folder below which packages put their toolkits.
Result<Toolchain> find_toolchain(const std::filesystem::path& installed = "/usr/local");

}  // namespace fiel::build
