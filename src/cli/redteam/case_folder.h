// A case of the red team: a kernel that cheats (exploits/) or only looks like it (honest/), and
// what every protocol must say about it.
//
//   FIEL_TRY(std::vector<CaseFolder> cases, read_cases(root, "M0*"));
//   cases[0].allowed("virtual");                  // statuses of strict that are right there
//
// The form of expect.toml is in exploits/README.md. A case that cannot be read is an error: one
// that is silently left out would be one that always passes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/protocols/protocol.h"

namespace fiel::cli {

struct CaseFolder {
  std::string name;  ///< "exploits/M05_last_call_replay"
  std::string id, title;
  bool honest = false;
  std::string task, kernel;                 ///< paths from the root
  std::vector<std::string> devices, needs;  ///< virtual, cpu, cuda; triton, nvcc, g++, numpy
  std::vector<std::string> arguments;       ///< more words for `fiel judge`
  std::vector<std::string> caught_by;       ///< findings or probes, one of which must show
  std::map<std::string, std::vector<std::string>> status;  ///< by device; "" for all
  std::map<judge::Protocol, bool> fooled;                  ///< by protocols other than strict

  bool python() const { return task.ends_with(".py"); }
  const std::vector<std::string>& allowed(const std::string& device) const;
  /// The values are right and the cheat gains nothing: strict may call it correct.
  bool harmless(const std::string& device) const;
};

/// "cuda" for cuda:0 …
std::string kind_of_device(const std::string& device);

/// Of exploits/ and honest/ under `root`, by name; `only` is a glob over names and folder names.
Result<std::vector<CaseFolder>> read_cases(const std::filesystem::path& root,
                                           const std::string& only);

Result<CaseFolder> read_case(const std::filesystem::path& root,
                             const std::filesystem::path& folder);

/// Writes a new folder with an expect.toml to fill in; an error where there is one.
Status scaffold_case(const std::filesystem::path& folder);

}  // namespace fiel::cli
