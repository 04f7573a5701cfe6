// The files that are embedded in the program and that others must find on disk: the stand-in
// libcudart.so.13, the runner, fiel/kernel.h.
//
//   FIEL_TRY(RuntimeFiles files, runtime_files());     // extracted once per version, atomically
//
// They lie under cache_dir()/runtime/<digest>/; a file whose bytes have changed is written anew.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fiel::build {

struct RuntimeFiles {
  std::filesystem::path folder;
  std::filesystem::path library;      ///< libcudart.so.13
  std::filesystem::path runner;       ///< fiel-runner
  std::filesystem::path include_dir;  ///< holds fiel/kernel.h
  std::string digest;                 ///< of all of them: part of every cache key
};

Result<RuntimeFiles> runtime_files();

std::string_view embedded_library();
std::string_view embedded_kernel_header();
/// A main() that calls a bare kernel once, to be linked with it where a profiler watches.
std::string_view embedded_counted_call();

}  // namespace fiel::build
