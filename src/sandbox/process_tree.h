// Memory and number of the processes below one, read from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace fiel::sandbox {

struct TreeUsage {
  uint64_t resident_bytes = 0;
  uint32_t processes = 0;
  /// Of open files that no folder names: memory files, and what was removed while it was open.
  /// None of it counts as the memory of a process.
  uint64_t nameless_file_bytes = 0;
};

/// `root` and all its descendants, and whatever shares its session. About a millisecond; with
/// files a system call more for each of their descriptors.
TreeUsage tree_usage(pid_t root, bool with_files = false);
int64_t now_ms();

}  // namespace fiel::sandbox
