// The words after a verb: flags and positional arguments, declared as a table that help is printed
// from.
//
//   const CommandSpec spec{"judge", "TASK KERNEL...", "…", {{"--seed", "N", "…"}}};
//   FIEL_TRY(Arguments a, parse_arguments(spec, {"task.toml", "k.cu", "--seed=7"}));
//   a.positional[0]; a.value("--seed"); a.has("--json");
//
// Unknown flags are answered with the nearest known one. `--` ends the flags.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fiel::cli {

struct Flag {
  std::string name;   ///< "--seed"
  std::string value;  ///< "N"; empty where the flag takes none
  std::string help;
};

struct CommandSpec {
  std::string verb;
  std::string positional;  ///< "TASK KERNEL..."
  std::string summary;     ///< one line for the list of verbs
  std::vector<Flag> flags;
  std::string details;  ///< further paragraphs of its help; may be empty
};

struct Arguments {
  std::vector<std::string> positional;
  std::map<std::string, std::string> flags;

  bool has(std::string_view flag) const { return flags.contains(std::string(flag)); }
  std::optional<std::string> value(std::string_view flag) const;
};

Result<Arguments> parse_arguments(const CommandSpec& spec, const std::vector<std::string>& words);

/// The value of a flag as a number within bounds, or an error that names the flag.
Result<uint64_t> unsigned_value(const Arguments& arguments, std::string_view flag,
                                uint64_t fallback, uint64_t max);
/// One of a list of words; the nearest is suggested.
Result<std::string> word_value(const Arguments& arguments, std::string_view flag,
                               const std::vector<std::string>& words, const std::string& fallback);

std::string help_text(const CommandSpec& spec);

}  // namespace fiel::cli
