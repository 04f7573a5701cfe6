// The verbs of `fiel`, and where they write.
//
//   int code = run_cli({"judge", "tasks/softmax.toml", "online.cu"}, Context::of_process());
//
// stdout carries the answer and nothing else, stderr the story. Exit codes: 0, 1, 2, 3, 5, 130
// (`fiel explain 3`).
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/arguments.h"

namespace fiel::cli {

struct Context {
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  bool color_out = false, color_err = false;
  bool progress = false;  ///< a status line on err: a terminal only
  std::function<bool()> interrupted;

  /// stdout and stderr, NO_COLOR and TERM=dumb respected, SIGINT caught.
  static Context of_process();
  void print(std::string_view text) const;
  void print_json(const Json& json) const;
  void story(std::string_view text) const;
};

struct Command {
  CommandSpec spec;
  std::function<Result<int>(const Arguments&, const Context&)> run;
};

/// All verbs, in the order of `fiel help`.
const std::vector<Command>& commands();

/// Never throws; prints errors to err.
int run_cli(const std::vector<std::string>& words, const Context& context);

int exit_code_of(const Error& error);

Command init_command();
Command judge_command();
Command compare_command();
Command redteam_command();
Command mutate_command();
Command replay_command();
Command profile_command();
Command runs_command();
Command report_command();
Command export_command();
Command explain_command();
Command doctor_command();
Command tasks_command();
Command cache_command();
Command agent_command();
Command search_command();
Command mcp_command();
Command daemon_command();
Command ask_command();
Command version_command();

/// An error as a terminal may have it: names of files and lines of tasks are in it.
std::string shown(const Error& error);

inline const Flag kJsonFlag{"--json", "", "one JSON document on stdout"};

}  // namespace fiel::cli
