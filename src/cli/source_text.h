// What is kept of a task or a kernel, and what tells whether it has changed since.
#pragma once

#include <string>

#include "base/result.h"

namespace fiel::cli {

/// A file's bytes; of a work folder all its files as one text (kernel/work_folder.h).
Result<std::string> source_text(const std::string& path);

/// Whether what lies at `path` is what had this SHA-256; none: nothing could be read then.
bool is_unchanged(const std::string& path, const std::string& digest);

}  // namespace fiel::cli
