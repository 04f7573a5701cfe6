// How strongly an untrusted process is kept apart, asked for and reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fiel::sandbox {

/// Each level includes the ones before it.
enum class Level : uint8_t {
  none,    ///< a plain child process
  limits,  ///< rlimits, closed descriptors, clean environment, seccomp where the kernel allows it
  namespaces,  ///< + bubblewrap: no network, own pids, read-only system, private /tmp
};

struct Limits {
  uint64_t memory_bytes = 4ull << 30;
  uint64_t file_bytes = 64ull << 20;   ///< a file it writes in its private /tmp
  uint64_t output_bytes = 1ull << 20;  ///< stdout + stderr kept
  uint32_t processes = 64;
  /// Also a bound on address space, touched or not. CUDA reserves terabytes of it: off where a GPU
  /// is inside, where the resident memory alone is bounded.
  bool address_space = true;
  uint32_t descriptors = 256;
  int64_t cpu_seconds = 600;
};

struct IsolationPolicy {
  Level required = Level::none;  ///< fail closed below this
  Level wanted = Level::namespaces;
  Limits limits;
};

struct IsolationReport {
  Level level = Level::none;
  std::vector<std::string> in_force;  ///< "user namespace", "no network", "seccomp", …
  std::vector<std::string> missing;   ///< each with the reason and what would help
};

const char* name_of(Level level);

}  // namespace fiel::sandbox
