#include "base/text.h"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>

namespace fiel {
namespace {

/// Insertions, deletions, substitutions and exchanges of neighbours ("jugde"), each counted once.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, row);
  }
  return above[b.size()];
}

/// Length of the valid UTF-8 sequence at the start of `s`, 0 when there is none.
size_t utf8_length(std::string_view s) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  size_t n = byte(0) < 0x80                      ? 1
             : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
             : byte(0) >= 0xe0 && byte(0) < 0xf0 ? 3
             : byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4
                                                 : 0;
  if (n == 0 || n > s.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return n;
}

std::string with_unit(double value, const char* unit) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.3g %s", value, unit);
  return buffer;
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  if (word.size() > 64) return best;
  for (const std::string& c : candidates) {
    if (c.size() > 128) continue;
    size_t d = edit_distance(word, c);
    if (d < best_distance) {
      best_distance = d;
      best = c;
    }
  }
  return best;
}

std::string format_bytes(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = static_cast<double>(bytes);
  int i = 0;
  while (v >= 1024 && i < 4) {
    v /= 1024;
    ++i;
  }
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, i == 0 ? "%.0f %s" : "%.2f %s", v, units[i]);
  return buffer;
}

std::string format_duration_ns(double ns) {
  if (ns < 1e3) return with_unit(ns, "ns");
  if (ns < 1e6) return with_unit(ns / 1e3, "µs");
  if (ns < 1e9) return with_unit(ns / 1e6, "ms");
  return with_unit(ns / 1e9, "s");
}

std::string format_count(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  size_t i = 0;
  while (i < text.size() && out.size() < max_bytes) {
    size_t n = utf8_length(text.substr(i));
    unsigned char c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F: an 8-bit terminal's ESC [ and its kind.
    const bool c1 = n == 2 && c == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (n == 0 || c1 || (n == 1 && (c < 32 || c == 127) && c != '\n' && c != '\t')) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", c);
      out += hex;
      i += 1;
    } else {
      out += text.substr(i, n);
      i += n;
    }
  }
  if (i < text.size()) out += "… (" + std::to_string(text.size() - i) + " bytes more)";
  return out;
}

std::string demangled(const std::string& name) {
  if (name.size() > 1000 || !name.starts_with("_Z")) return name;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

std::string format_double(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return std::string(buffer, end);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (;;) {
    size_t end = text.find(separator, begin);
    out.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return out;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  const char* space = " \t\r\n";
  size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

}  // namespace fiel
