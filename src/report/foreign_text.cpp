#include "report/foreign_text.h"

#include <fmt/core.h>

#include <cstdint>

namespace fiel::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Decoded {
  uint32_t code = 0;
  size_t length = 1;
  bool valid = false;
};

bool continues(std::string_view s, size_t at) {
  return at < s.size() && (static_cast<unsigned char>(s[at]) & 0xC0) == 0x80;
}

// RFC 3629: overlong forms, surrogates and what lies beyond U+10FFFF are invalid.
Decoded decode(std::string_view s, size_t at) {
  const auto c = static_cast<unsigned char>(s[at]);
  if (c < 0x80) return {c, 1, true};
  const size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  if (c < 0xC2 || c > 0xF4) return {};
  uint32_t code = c & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!continues(s, at + i)) return {};
    code = (code << 6) | (static_cast<unsigned char>(s[at + i]) & 0x3Fu);
  }
  const uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length, true};
}

void append(std::string& out, std::string_view s, size_t at, const Decoded& d) {
  const bool control = d.code < 0x20 && d.code != '\t' && d.code != '\n';
  if (!d.valid || (d.code & 0xFFFE) == 0xFFFE || (d.code >= 0x80 && d.code < 0xA0)) {
    out += kReplacement;
  } else if (control || d.code == 0x7F) {
    // U+2400 + code is the control picture; U+2421 that of DEL.
    const uint32_t picture = d.code == 0x7F ? 0x2421 : 0x2400 + d.code;
    out += static_cast<char>(0xE2);
    out += static_cast<char>(0x80 | ((picture >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (picture & 0x3F));
  } else {
    out.append(s, at, d.length);
  }
}

std::string replaced(std::string_view text, std::string_view (*by)(char)) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    const std::string_view escape = by(c);
    if (escape.empty())
      out += c;
    else
      out += escape;
  }
  return out;
}

}  // namespace

std::string clean_text(std::string_view bytes, size_t max_bytes) {
  std::string out;
  size_t at = 0;
  while (at < bytes.size() && out.size() < max_bytes) {
    // CR LF is one line end; a lone CR would move a cursor.
    if (bytes[at] == '\r' && at + 1 < bytes.size() && bytes[at + 1] == '\n') ++at;
    const Decoded d = decode(bytes, at);
    append(out, bytes, at, d);
    at += d.length;
  }
  if (at < bytes.size()) out += fmt::format("… ({} bytes more)", bytes.size() - at);
  return out;
}

std::string xml_text(std::string_view bytes, size_t max_bytes) {
  return replaced(clean_text(bytes, max_bytes), [](char c) -> std::string_view {
    return c == '&'    ? "&amp;"
           : c == '<'  ? "&lt;"
           : c == '>'  ? "&gt;"
           : c == '"'  ? "&quot;"
           : c == '\n' ? "&#10;"
           : c == '\t' ? "&#9;"
                       : "";
  });
}

std::string markdown_cell(std::string_view bytes, size_t max_bytes) {
  return replaced(clean_text(bytes, max_bytes), [](char c) -> std::string_view {
    switch (c) {
      case '\n':
        return " ";
      case '|':
        return "\\|";
      case '<':
        return "&lt;";
      case '&':
        return "&amp;";
      case '\\':
        return "\\\\";
      case '`':
        return "\\`";
      case '*':
        return "\\*";
      case '_':
        return "\\_";
      case '[':
        return "\\[";
      case '@':
        return "&#64;";  // nobody is to be called by a kernel's file name
      default:
        return "";
    }
  });
}

std::string csv_field(std::string_view bytes, size_t max_bytes) {
  std::string text = clean_text(bytes, max_bytes);
  if (!text.empty() && std::string_view("=+-@\t").find(text[0]) != std::string_view::npos)
    text.insert(text.begin(), '\'');
  return "\"" + replaced(text, [](char c) -> std::string_view { return c == '"' ? "\"\"" : ""; }) +
         "\"";
}

std::string github_message(std::string_view bytes, size_t max_bytes) {
  return replaced(clean_text(bytes, max_bytes), [](char c) -> std::string_view {
    return c == '%' ? "%25" : c == '\n' ? "%0A" : c == '\r' ? "%0D" : "";
  });
}

std::string github_property(std::string_view bytes, size_t max_bytes) {
  return replaced(clean_text(bytes, max_bytes), [](char c) -> std::string_view {
    return c == '%'    ? "%25"
           : c == '\n' ? "%0A"
           : c == '\r' ? "%0D"
           : c == ':'  ? "%3A"
           : c == ','  ? "%2C"
                       : "";
  });
}

}  // namespace fiel::report
