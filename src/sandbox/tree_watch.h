// Keeps a process and all that it starts within limits that no rlimit has: the memory of all of
// them together, their number, and what they write.
//
//   TreeWatch watch(pid, pidfd, {.limits = limits, .folder = private_tmp, .folder_bytes = 1 <<
//   30}); watch.broken();                  // "memory limit of 4.00 GiB" once it was killed for it
//
// It looks from a thread of its own, also while nobody waits for the process: a candidate may take
// memory when the judge is busy with something else. It sees up to a period late, and does not
// reap.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "sandbox/isolation.h"

namespace fiel::sandbox {

struct WatchedLimits {
  Limits limits;
  uint32_t own_processes = 0;    ///< of the sandbox itself, beside limits.processes
  std::filesystem::path folder;  ///< the one that it writes to, where no file system bounds it
  uint64_t folder_bytes = 0;
};

class TreeWatch {
 public:
  TreeWatch(pid_t root, int pidfd, WatchedLimits watched);
  ~TreeWatch();
  /// The limit that was passed, or empty.
  std::string broken() const;
  uint64_t peak_resident_bytes() const { return peak_.load(); }

 private:
  enum class Broken : uint8_t { nothing, memory, processes, files };
  void run(const std::stop_token& stop);
  Broken look(bool at_files);
  void kill() const;

  const pid_t root_;
  const int pidfd_;
  const WatchedLimits watched_;
  std::atomic<Broken> broken_ = Broken::nothing;
  std::atomic<uint64_t> peak_ = 0;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace fiel::sandbox
