#include "cli/arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace fiel::cli {
namespace {

const Flag* find_flag(const CommandSpec& spec, std::string_view name) {
  for (const Flag& f : spec.flags)
    if (f.name == name) return &f;
  return nullptr;
}

tl::unexpected<Error> unknown_flag(const CommandSpec& spec, const std::string& name) {
  std::vector<std::string> names;
  for (const Flag& f : spec.flags) names.push_back(f.name);
  const std::string near = did_you_mean(name, names);
  return fail(ErrorCode::usage, fmt::format("'fiel {}' has no flag '{}'", spec.verb, name),
              near.empty() ? fmt::format("'fiel help {}' lists its flags", spec.verb)
                           : fmt::format("did you mean '{}'?", near));
}

}  // namespace

std::optional<std::string> Arguments::value(std::string_view flag) const {
  const auto found = flags.find(std::string(flag));
  if (found == flags.end()) return std::nullopt;
  return found->second;
}

Result<Arguments> parse_arguments(const CommandSpec& spec, const std::vector<std::string>& words) {
  Arguments arguments;
  bool flags_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (flags_ended || word.size() < 2 || word[0] != '-') {
      arguments.positional.push_back(word);
      continue;
    }
    if (word == "--") {
      flags_ended = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Flag* flag = find_flag(spec, name);
    if (flag == nullptr) return unknown_flag(spec, name);
    std::string value;
    if (flag->value.empty()) {
      if (equals != std::string::npos)
        return fail(ErrorCode::usage, fmt::format("'{}' takes no value", name));
    } else if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      return fail(ErrorCode::usage,
                  fmt::format("'{}' needs a value: {} {}", name, name, flag->value));
    }
    arguments.flags[name] = value;
  }
  return arguments;
}

Result<uint64_t> unsigned_value(const Arguments& arguments, std::string_view flag,
                                uint64_t fallback, uint64_t max) {
  const auto text = arguments.value(flag);
  if (!text) return fallback;
  uint64_t value = 0;
  const char* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || text->empty() || value > max)
    return fail(ErrorCode::usage, fmt::format("'{} {}' is not a whole number from 0 to {}", flag,
                                              printable(*text, 60), max));
  return value;
}

Result<std::string> word_value(const Arguments& arguments, std::string_view flag,
                               const std::vector<std::string>& words, const std::string& fallback) {
  const auto text = arguments.value(flag);
  if (!text) return fallback;
  if (std::find(words.begin(), words.end(), *text) != words.end()) return *text;
  std::string list;
  for (const std::string& w : words) list += (list.empty() ? "" : ", ") + w;
  const std::string near = did_you_mean(*text, words);
  return fail(
      ErrorCode::usage, fmt::format("'{} {}' is unknown", flag, printable(*text, 60)),
      near.empty() ? "one of: " + list : fmt::format("did you mean '{}'? one of: {}", near, list));
}

std::string help_text(const CommandSpec& spec) {
  std::string text = fmt::format("{}\n\nusage: fiel {}{}{}{}\n", spec.summary, spec.verb,
                                 spec.positional.empty() ? "" : " ", spec.positional,
                                 spec.flags.empty() ? "" : " [flags]");
  size_t width = 0;
  for (const Flag& f : spec.flags) width = std::max(width, f.name.size() + f.value.size() + 1);
  if (!spec.flags.empty()) text += "\n";
  for (const Flag& f : spec.flags)
    text += fmt::format("  {:<{}}  {}\n", f.value.empty() ? f.name : f.name + " " + f.value, width,
                        f.help);
  if (!spec.details.empty()) text += "\n" + spec.details + "\n";
  return text;
}

}  // namespace fiel::cli
