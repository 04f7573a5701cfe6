// The processes below one, their memory and number, read from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

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
/// All below `root`, without it; those that ended and wait for their parent, too.
std::vector<pid_t> descendants(pid_t root);
int64_t now_ms();

}  // namespace fiel::sandbox
