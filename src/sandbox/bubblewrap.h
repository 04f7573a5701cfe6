// How bubblewrap is called on this machine: tried once, from the strongest form to the weakest.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/spawn.h"

namespace fiel::sandbox {

/// One way of calling bubblewrap that worked.
struct BubblewrapForm {
  std::string program;
  bool drop_root = false;  ///< as an ordinary user although we are root
  bool own_proc = true;    ///< its own /proc; containers often forbid mounting one
};
struct BubblewrapTrial {
  std::optional<BubblewrapForm> form;
  std::vector<std::string> problems;  ///< each step that failed, why, and what would help
};

/// Tried with /usr/bin/true, cached for the life of the process.
const BubblewrapTrial& bubblewrap_trial(bool drop_root);

/// Everything before the program's own words. Descriptors in `data` are (fd, path inside).
std::vector<std::string> bubblewrap_arguments(const BubblewrapForm& form,
                                              const std::vector<std::filesystem::path>& system,
                                              const std::vector<std::filesystem::path>& read_only,
                                              const std::filesystem::path& writable,
                                              const std::vector<std::pair<int, std::string>>& data,
                                              uint64_t tmp_bytes, int seccomp_fd);

/// The user that root's candidates become: nobody's number, on every distribution.
inline constexpr unsigned kNobody = 65534;

}  // namespace fiel::sandbox
