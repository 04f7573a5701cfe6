#include "cli/redteam/machine.h"

#include <map>

#include "base/process.h"

namespace fiel::cli {
namespace {

constexpr int64_t kImportMs = 60'000;

bool imports(const std::string& python, const std::string& module) {
  static std::map<std::string, bool> known;
  const auto [at, fresh] = known.try_emplace(python + " " + module, false);
  if (!fresh) return at->second;
  const auto ran = run_process({.arguments = {python, "-c", "import " + module},
                                .working_directory = {},
                                .environment = {},
                                .timeout_ms = kImportMs});
  at->second = ran && ran->ok();
  return at->second;
}

}  // namespace

std::string first_missing(const std::vector<std::string>& needs, const std::string& python) {
  for (const std::string& need : needs) {
    const bool module = need == "triton" || need == "numpy";
    // nvcc is looked for by the judge itself, in more places than PATH.
    const bool there = module           ? !python.empty() && imports(python, need)
                       : need == "nvcc" ? true
                                        : find_program(need).has_value();
    if (!there) return need;
  }
  return "";
}

}  // namespace fiel::cli
