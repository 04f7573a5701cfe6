#include "judge/readable.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>

namespace fiel::judge {
namespace {

/// Erases "/…/build/<folder>/source/" before a file's name: it names a folder that is gone, and
/// another one in the next run.
std::string without_build_folder(std::string text) {
  static constexpr std::string_view kSource = "/source/";
  for (size_t at = text.find(kSource); at != std::string::npos; at = text.find(kSource, at)) {
    size_t begin = at;
    while (begin > 0 && !std::isspace(static_cast<unsigned char>(text[begin - 1])) &&
           text[begin - 1] != '(')
      --begin;
    const std::string_view path = std::string_view(text).substr(begin, at - begin);
    if (path.find("/build/") == std::string_view::npos) {
      at += kSource.size();
      continue;
    }
    text.erase(begin, at + kSource.size() - begin);
    at = begin;
  }
  return text;
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::string demangled(std::string_view name) {
  // Longer names are an attack on the demangler's recursion, not a kernel's.
  if (!name.starts_with("_Z") || name.size() > 1024) return std::string(name);
  int status = 0;
  char* text = abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : std::string(name);
  std::free(text);
  const size_t arguments = result.find('(');
  const size_t parameters = result.find('<');
  if (arguments != std::string::npos && (parameters == std::string::npos || parameters > arguments))
    result.resize(arguments);
  return result;
}

std::string readable(std::string_view raw) {
  std::string text = without_build_folder(std::string(raw));
  // Where the compiler's sandbox keeps the source.
  static constexpr std::string_view kInside = "/kernel/";
  for (size_t at = text.find(kInside); at != std::string::npos; at = text.find(kInside, at + 1))
    if (at == 0 || std::isspace(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '(')
      text.erase(at, kInside.size());
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool starts = text.compare(i, 2, "_Z") == 0 && (i == 0 || !is_name(text[i - 1]));
    size_t end = i;
    while (starts && end < text.size() && is_name(text[end])) ++end;
    if (!starts) {
      out += text[i++];
      continue;
    }
    out += demangled(std::string_view(text).substr(i, end - i));
    i = end;
  }
  return out;
}

}  // namespace fiel::judge
