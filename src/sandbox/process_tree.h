// Memory and number of the processes below one, read from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace fiel::sandbox {

struct TreeUsage {
  uint64_t resident_bytes = 0;
  uint32_t processes = 0;
};

/// `root` and all its descendants, and whatever shares its session. About a millisecond.
TreeUsage tree_usage(pid_t root);
int64_t now_ms();

}  // namespace fiel::sandbox
