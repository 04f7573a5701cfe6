// glob and grep: names and lines of the workspace's files.
#include <fmt/core.h>
#include <fnmatch.h>

#include "agent/tools/toolbox.h"
#include "base/text.h"

namespace fiel::agent {
namespace {

constexpr size_t kMaxFiles = 5000, kMaxMatches = 200;
constexpr uint64_t kMaxFileBytes = 2u << 20;

bool fits(const std::string& pattern, const std::string& name) {
  // "**" reaches into folders, "*" does not.
  const bool deep = pattern.find("**") != std::string::npos;
  if (::fnmatch(pattern.c_str(), name.c_str(), deep ? 0 : FNM_PATHNAME) == 0) return true;
  return pattern.starts_with("**/") &&
         ::fnmatch(pattern.c_str() + 3, name.c_str(), FNM_PATHNAME) == 0;
}

}  // namespace

ToolResult glob_tool(const Workspace& w, const Json& a) {
  const std::string& pattern = a["pattern"].as_string();
  if (pattern.size() > 200) return refused("the pattern is too long");
  std::string out;
  size_t matches = 0;
  for (const std::string& name : w.files().files(kMaxFiles))
    if (fits(pattern, name) && ++matches <= kMaxMatches) out += name + "\n";
  if (matches > kMaxMatches) out += fmt::format("… {} more\n", matches - kMaxMatches);
  return done(matches == 0 ? "no file fits" : out);
}

ToolResult grep_tool(const Workspace& w, const Json& a) {
  const std::string& text = a["text"].as_string();
  const std::string& pattern = a["pattern"].as_string();
  if (text.empty() || pattern.size() > 200) return refused("there is no text to look for");
  std::string out;
  size_t matches = 0;
  for (const std::string& name : w.files().files(kMaxFiles)) {
    if (!pattern.empty() && !fits(pattern, name)) continue;
    const auto content = w.files().read(name, kMaxFileBytes);
    if (!content) continue;
    size_t number = 0;
    for (const std::string_view line : split(*content, '\n')) {
      ++number;
      if (line.find(text) == std::string_view::npos) continue;
      if (++matches <= kMaxMatches)
        out += fmt::format("{}:{}: {}\n", name, number, line.substr(0, 300));
    }
  }
  if (matches > kMaxMatches) out += fmt::format("… {} more\n", matches - kMaxMatches);
  return done(matches == 0 ? "no line holds it" : out);
}

}  // namespace fiel::agent
