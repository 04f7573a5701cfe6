// read, write, edit: one file of the workspace.
#include <fmt/core.h>

#include <algorithm>

#include "agent/tools/toolbox.h"
#include "base/text.h"

namespace fiel::agent {
namespace {

constexpr uint64_t kMaxFileBytes = 2u << 20;

/// Why this file may not be written; empty where it may.
std::string protection(const Workspace& w, const std::string& name) {
  const auto plain = plain_relative(name);
  if (!plain) return to_string(plain.error());
  return w.is_fixed(*plain) ? *plain + " is fixed: the judge compares it with what it was" : "";
}

/// Where `text` occurs; a complaint where that is not exactly once.
std::string unique_place(const std::string& in, const std::string& text, size_t& at) {
  if (text.empty()) return "'old' is empty";
  at = in.find(text);
  if (at == std::string::npos) return "the text is not in the file";
  if (in.find(text, at + 1) != std::string::npos) return "the text occurs more than once";
  return "";
}

}  // namespace

ToolResult read_tool(const Workspace& w, const Json& a) {
  const auto text = w.files().read(a["path"].as_string(), kMaxFileBytes);
  if (!text) return refused(to_string(text.error()));
  const auto lines = split(*text, '\n');
  const auto first = static_cast<size_t>(std::max<int64_t>(1, a["first_line"].as_int(1)));
  const auto count = static_cast<size_t>(std::clamp<int64_t>(a["lines"].as_int(400), 1, 2000));
  std::string out;
  for (size_t i = first - 1; i < lines.size() && i < first - 1 + count; ++i)
    out += fmt::format("{:>5}  {}\n", i + 1, lines[i].substr(0, 2000));
  return done(out.empty() ? fmt::format("the file has {} lines", lines.size()) : out);
}

ToolResult write_tool(const Workspace& w, const Json& a) {
  const std::string& name = a["path"].as_string();
  if (const std::string why = protection(w, name); !why.empty()) return refused(why);
  if (a["text"].as_string().size() > kMaxFileBytes) return refused("longer than 2 MiB");
  const auto written = w.files().write(name, a["text"].as_string());
  if (!written) return refused(to_string(written.error()));
  return done(fmt::format("wrote {}", format_bytes(a["text"].as_string().size())));
}

ToolResult edit_tool(const Workspace& w, const Json& a) {
  const std::string& name = a["path"].as_string();
  if (const std::string why = protection(w, name); !why.empty()) return refused(why);
  auto text = w.files().read(name, kMaxFileBytes);
  if (!text) return refused(to_string(text.error()));
  size_t number = 0;
  for (const Json& edit : a["edits"].items()) {
    ++number;
    size_t at = 0;
    const std::string& old = edit["old"].as_string();
    if (const std::string why = unique_place(*text, old, at); !why.empty())
      return refused(fmt::format("edit {}: {}; nothing was changed", number, why));
    text->replace(at, old.size(), edit["new"].as_string());
    if (text->size() > kMaxFileBytes) return refused("longer than 2 MiB; nothing was changed");
  }
  if (number == 0) return refused("there are no edits");
  const auto written = w.files().write(name, *text);
  if (!written) return refused(to_string(written.error()));
  return done(fmt::format("{} edits", number));
}

}  // namespace fiel::agent
