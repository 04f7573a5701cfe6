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

/// What the program is to see.
struct BubblewrapView {
  std::vector<std::filesystem::path> system, read_only, devices;
  std::vector<std::pair<std::filesystem::path, std::string>>
      folders;  ///< host -> inside, read-only
  std::filesystem::path writable;
  std::vector<std::pair<int, std::string>> data;  ///< descriptor -> file inside
  uint64_t tmp_bytes = 1u << 20;
  int seccomp_fd = -1;
  bool as_nobody = false;  ///< by number inside, where root could not be given up outside
};

/// Everything before the program's own words.
std::vector<std::string> bubblewrap_arguments(const BubblewrapForm& form,
                                              const BubblewrapView& view);

/// Words to put before a program's own, so that it and all that it starts have process numbers of
/// their own and share everything else with us: files, network, user, environment, working folder.
/// The kernel ends all of them, however fast they fork, when the first of these words' process
/// ends; that passes on the program's exit code. The error says why this is not to be had here.
struct ProcessSpace {
  /// Who the program becomes, where root starts it.
  std::optional<std::pair<unsigned, unsigned>> user_and_group;
  uint64_t max_tasks = 0;  ///< processes and threads of an ordinary user in it; 0: no bound
};
Result<std::vector<std::string>> process_space(const ProcessSpace& space);

/// $FIEL_BWRAP, else bwrap on PATH.
std::optional<std::filesystem::path> bubblewrap_program();

/// The user that root's candidates become: nobody's number, on every distribution.
inline constexpr unsigned kNobody = 65534;

}  // namespace fiel::sandbox
