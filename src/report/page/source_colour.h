// Source text as coloured HTML lines: comments, strings, keywords, numbers, preprocessor lines.
//
//   std::vector<std::string> lines = coloured_lines(text, Language::cuda);   // escaped, with <i
//   class>
//
// A lexer for colours only: it never fails, whatever the text is, and decides nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fiel::report {

enum class Language : uint8_t { cuda, python, toml };
Language language_of(std::string_view path);

/// Every line closes what it opens. At most max_lines; the rest is counted by the caller.
std::vector<std::string> coloured_lines(std::string_view text, Language language, size_t max_lines);

}  // namespace fiel::report
