// Runs a program to its end, with bounds on time and output. No shell is ever involved.
//
//   ProcessRequest request{.arguments = {"nvcc", "-ptx", …}, .timeout_ms = 60'000};
//   FIEL_TRY(ProcessResult r, run_process(request));
//   if (r.timed_out || r.exit_code != 0) …
//
// Trusted tools only (compilers, doctor's questions). Candidates go through sandbox/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fiel {

struct ProcessRequest {
  std::vector<std::string> arguments;  ///< [0] is looked up on PATH when it has no slash
  std::filesystem::path working_directory;
  std::optional<std::vector<std::pair<std::string, std::string>>> environment;  ///< replaces ours
  int64_t timeout_ms = 60'000;
  uint64_t max_output_bytes = 4u << 20;  ///< of each of stdout and stderr; the rest is discarded
};
struct ProcessResult {
  int exit_code = -1;  ///< valid when signal == 0
  int signal = 0;
  bool timed_out = false;
  std::string out, err;
  bool ok() const { return !timed_out && signal == 0 && exit_code == 0; }
};

/// Fails only when the program cannot be started. On timeout the whole process group is killed.
Result<ProcessResult> run_process(const ProcessRequest& request);

/// First match on PATH, or nothing.
std::optional<std::filesystem::path> find_program(std::string_view name);

}  // namespace fiel
