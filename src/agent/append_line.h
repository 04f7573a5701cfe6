// One line at the end of a file, whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace fiel::agent {

/// To a file that only its owner may read. `sync`: on the disk before this returns. Where it fails
/// (a full disk takes half of a line) the file is as it was.
Status append_line(const std::filesystem::path& file, const std::string& line, bool sync = false);

/// The lines that are whole: a process killed in the middle of a line leaves a piece behind, which
/// is cut off the file, so that the next line does not grow onto it.
Result<std::vector<std::string>> whole_lines(const std::filesystem::path& file, uint64_t max_bytes);

}  // namespace fiel::agent
