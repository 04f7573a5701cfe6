// A kernel's source file with every quoted include that it pulls in.
//
//   FIEL_TRY(SourceSet set, collect_sources("kernels/softmax.cu"));
//   // set.files: {"softmax.cu", bytes}, {"common/reduce.cuh", bytes}
//
// Only files below the source's own folder count; what lies outside, and links that lead there,
// are not the kernel's and are left for the compiler not to find. <…> includes are the toolkit's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace fiel::build {

struct SourceFile {
  std::filesystem::path name;  ///< relative to the source's folder
  std::string bytes;
};
struct SourceSet {
  std::vector<SourceFile> files;  ///< [0] is the kernel itself
  std::string digest;
};

/// Bounds: 16 MiB a file, 64 MiB and 1024 files in all.
Result<SourceSet> collect_sources(const std::filesystem::path& source);
/// Names in `#include "…"` lines; comments are not understood, so a name may be too many.
std::vector<std::string> quoted_includes(std::string_view text);

}  // namespace fiel::build
