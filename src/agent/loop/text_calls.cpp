#include "agent/loop/text_calls.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace fiel::agent {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr size_t kMaxCalls = 16;

/// Reasoning is no place for calls; an open <think> swallows the rest.
std::string without_thinking(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t begin = text.find("<think>");
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) break;
    const size_t end = text.find("</think>", begin);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 8);
  }
  return out;
}

struct Parsed {
  std::string name;
  Json arguments;
  size_t length = 0;  ///< of the text after <tool_call>, up to behind </tool_call>
};

std::optional<Parsed> parse_json_form(std::string_view text) {
  // The arguments may hold the closing words themselves: the first end that leaves JSON counts.
  for (size_t end = text.find(kClose), tries = 0; end != std::string_view::npos && tries < 32;
       end = text.find(kClose, end + 1), ++tries) {
    auto json = Json::parse(trim(text.substr(0, end)), {.max_bytes = 4u << 20, .max_depth = 32});
    if (!json || !(*json)["name"].is_string()) continue;
    Json arguments = (*json)["arguments"];
    if (arguments.is_string())
      if (auto inner = Json::parse(arguments.as_string())) arguments = std::move(*inner);
    return Parsed{(*json)["name"].as_string(), arguments.is_null() ? Json::object() : arguments,
                  end + kClose.size()};
  }
  return {};
}

/// As the schema wants it: text, or the value that the text spells.
Json value_of(std::string_view text, const std::string& name, const ToolSpec* spec) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool is_text =
      spec == nullptr || spec->parameters["properties"][name]["type"].as_string() == "string";
  if (!is_text)
    if (auto json = Json::parse(trim(text))) return std::move(*json);
  return Json(text);
}

/// "<function=NAME>" … ; false where it does not begin so.
bool eat_name(std::string_view& text, std::string_view head, std::string& name) {
  const size_t space = text.find_first_not_of(" \t\r\n");
  if (space == std::string_view::npos || !text.substr(space).starts_with(head)) return false;
  const size_t end = text.find('>', space);
  if (end == std::string_view::npos || end - space > 100) return false;
  name = std::string(trim(text.substr(space + head.size(), end - space - head.size())));
  text.remove_prefix(end + 1);
  return true;
}

/// Where a parameter's text ends: the first end that another parameter or the call's end follows.
size_t parameter_end(std::string_view text) {
  for (size_t at = text.find("</parameter>"); at != std::string_view::npos;
       at = text.find("</parameter>", at + 1)) {
    const std::string_view rest = trim(text.substr(at + 12, 200));
    if (rest.starts_with("<parameter=") || rest.starts_with("</function>")) return at;
  }
  return std::string_view::npos;
}

std::optional<Parsed> parse_xml_form(std::string_view text, const std::vector<ToolSpec>& specs) {
  const std::string_view whole = text;
  Parsed p;
  if (!eat_name(text, "<function=", p.name)) return {};
  const auto spec =
      std::find_if(specs.begin(), specs.end(), [&](const ToolSpec& s) { return s.name == p.name; });
  p.arguments = Json::object();
  std::string name;
  while (eat_name(text, "<parameter=", name)) {
    const size_t end = parameter_end(text);
    if (end == std::string_view::npos) return {};
    p.arguments[name] = value_of(text.substr(0, end), name, spec == specs.end() ? nullptr : &*spec);
    text.remove_prefix(end + 12);
  }
  for (const std::string_view word : {std::string_view("</function>"), kClose}) {
    const size_t space = text.find_first_not_of(" \t\r\n");
    if (space == std::string_view::npos || !text.substr(space).starts_with(word)) return {};
    text.remove_prefix(space + word.size());
  }
  p.length = whole.size() - text.size();
  return p;
}

}  // namespace

const char* const kTextCallHint =
    "No tool was called. Call one with the tools you were given; hand in the kernel with 'submit'.";

std::vector<ToolCall> text_calls(std::string_view reply, const std::vector<ToolSpec>& specs,
                                 const std::string& prefix) {
  const std::string text = without_thinking(reply);
  std::vector<ToolCall> calls;
  bool fenced = false;
  for (size_t at = 0; at < text.size() && calls.size() < kMaxCalls;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(std::string_view(text).substr(at, end - at));
    if (line.starts_with("```") || line.starts_with("~~~")) fenced = !fenced;
    if (!fenced && line.starts_with(kOpen)) {
      const size_t begin = text.find(kOpen, at) + kOpen.size();
      const std::string_view rest = std::string_view(text).substr(begin);
      auto parsed = parse_json_form(rest);
      if (!parsed) parsed = parse_xml_form(rest, specs);
      if (parsed) {
        calls.push_back({prefix + std::to_string(calls.size()), parsed->name, parsed->arguments,
                         parsed->arguments.dump()});
        at = begin + parsed->length;
        continue;
      }
    }
    at = end + 1;
  }
  return calls;
}

std::string text_call_instructions(const std::vector<ToolSpec>& specs) {
  std::string out =
      "Call a tool by ending your message with\n"
      "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"kernel.cu\"}}</tool_call>\n"
      "on a line of its own, not in a code block. The tools:\n";
  for (const ToolSpec& s : specs)
    out += "- " + s.name + ": " + s.description + " Arguments: " + s.parameters.dump() + "\n";
  return out;
}

}  // namespace fiel::agent
