#include "base/python_outline.h"

#include <algorithm>
#include <cctype>

namespace fiel {
namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
}

/// Goes over the text once; stops at each logical line's first character.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// The next logical line that starts in the first column, as what is left of the text; empty at
  /// the end.
  std::string_view next(uint32_t& line) {
    while (at_ < text_.size()) {
      const size_t begin = at_;
      const uint32_t begin_line = line_;
      skip_logical_line();
      if (is_name(text_[begin])) {
        line = begin_line;
        return text_.substr(begin);
      }
    }
    return {};
  }

 private:
  void skip_logical_line() {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        skip_comment();
      } else if (c == '"' || c == '\'') {
        skip_string(c);
      } else if (c == '\\') {
        step();
        step();
      } else {
        depth += c == '(' || c == '[' || c == '{';
        depth -= depth > 0 && (c == ')' || c == ']' || c == '}');
        step();
        if (c == '\n' && depth == 0) return;
      }
    }
  }
  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
  void skip_string(char quote) {
    const bool triple = text_.substr(at_, 3) == std::string(3, quote);
    for (int i = 0; i < (triple ? 3 : 1); ++i) step();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        step();
        step();
        continue;
      }
      if (!triple && c == '\n') return;  // an error of Python's; the line ends all the same
      if (triple ? text_.substr(at_, 3) == std::string(3, quote) : c == quote) {
        for (int i = 0; i < (triple ? 3 : 1); ++i) step();
        return;
      }
      step();
    }
  }
  void step() {
    if (at_ < text_.size() && text_[at_++] == '\n') ++line_;
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

std::string_view word(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && is_name(text[n])) ++n;
  return text.substr(0, n);
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
  return text;
}

}  // namespace

bool PythonOutline::defines(std::string_view name) const {
  return std::any_of(names.begin(), names.end(), [&](const auto& n) { return n.name == name; });
}
bool PythonOutline::defines(std::string_view name, PythonKind kind) const {
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& n) { return n.name == name && n.kind == kind; });
}

PythonOutline python_outline(std::string_view text) {
  PythonOutline outline;
  Scanner scanner(text);
  uint32_t line = 0;
  for (std::string_view rest; !(rest = scanner.next(line)).empty();) {
    std::string_view first = word(rest);
    std::string_view after = without_spaces(rest.substr(first.size()));
    if (first == "async") {
      first = word(after);
      after = without_spaces(after.substr(first.size()));
    }
    const bool definition = first == "class" || first == "def";
    const std::string_view name = definition ? word(after) : first;
    const bool assigned =
        !definition && after.size() > 1 && (after[0] == '=' || after[0] == ':') && after[1] != '=';
    if (name.empty() || (!definition && !assigned)) continue;
    const PythonKind kind = first == "class" ? PythonKind::class_
                            : definition     ? PythonKind::function
                                             : PythonKind::variable;
    outline.names.push_back({kind, std::string(name), line});
  }
  return outline;
}

}  // namespace fiel
