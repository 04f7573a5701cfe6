// Text of candidates, made safe for the formats of others.
//
//   xml_text("a\x1b[31m]]>", 4096)       // "a&#x241B;…": visible, well-formed XML 1.0
//
// Each takes any bytes, replaces invalid UTF-8 by U+FFFD, and cuts at max_bytes with a remark.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fiel::report {

/// Valid UTF-8 without control characters but tab and line feed (U+2400… stand for the others) and
/// without U+FFFE, U+FFFF and surrogates, which XML 1.0 forbids even as entities.
std::string clean_text(std::string_view bytes, size_t max_bytes);

/// clean_text, escaped for element content and attribute values.
std::string xml_text(std::string_view bytes, size_t max_bytes);

/// clean_text on one line, for a cell of a Markdown table.
std::string markdown_cell(std::string_view bytes, size_t max_bytes);

/// A CSV field, quoted; text that a spreadsheet would take for a formula is preceded by '.
std::string csv_field(std::string_view bytes, size_t max_bytes);

/// GitHub's workflow commands: the message (%25 %0D %0A), a property (also %3A %2C).
std::string github_message(std::string_view bytes, size_t max_bytes);
std::string github_property(std::string_view bytes, size_t max_bytes);

}  // namespace fiel::report
