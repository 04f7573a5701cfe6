// Small text services: did-you-mean, quantities with units, escaping for terminals.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fiel {

/// The candidate nearest to `word` by edit distance, or "" when none is near enough to suggest.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// "1.50 GiB", "320 B".
std::string format_bytes(uint64_t bytes);
/// "1.23 s", "45.6 ms", "789 µs".
std::string format_duration_ns(double ns);
/// "12,345,678".
std::string format_count(uint64_t n);
/// Control characters and invalid UTF-8 made visible, cut to max_bytes with "… (N bytes more)":
/// what a candidate printed may be shown, but must not drive the terminal.
std::string printable(std::string_view text, size_t max_bytes);
/// "softmax(float const*, float*, int)" for _Z7softmaxPKfPfi; names that are not mangled, or longer
/// than 1,000 bytes, stay as they are.
std::string demangled(const std::string& name);
/// Shortest decimal text that reads back as the same double.
std::string format_double(double v);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

}  // namespace fiel
