// Files that the user named for a result: --export, --html, --out, init's FILE.
//
//   FIEL_TRY_STATUS(write_output("/dev/stdout", page));
//
// A file appears whole or not at all, behind a link too. Devices and pipes are written to as they
// are: to put a new file in the place of /dev/stdout or /dev/null would break the machine. Never
// for folders in which others may plant links (workspaces, caches): write_file_atomic() follows
// none.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace fiel::cli {

/// Faults of the name are ErrorCode::usage or not_found; a full disk is ErrorCode::io.
Status write_output(const std::filesystem::path& path, std::string_view bytes);

}  // namespace fiel::cli
