// Landlock: which files a process may still open, without any namespace. The kernel has it since
// 5.13, for ordinary users too.
//
//   FIEL_TRY(Fd rules, landlock_rules({"/usr/lib"}, {private_folder}));   // before fork
//   landlock_confine(rules.get());                                        // in the child
//
// It bounds opening, making and removing files. It hides nothing: stat and the process list stay.
#pragma once

#include <filesystem>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace fiel::sandbox {

/// Folders and files that are missing are skipped.
Result<Fd> landlock_rules(const std::vector<std::filesystem::path>& readable,
                          const std::vector<std::filesystem::path>& writable);
/// Only system calls; needs PR_SET_NO_NEW_PRIVS.
bool landlock_confine(int rules);

}  // namespace fiel::sandbox
