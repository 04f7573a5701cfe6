// ncu's CSV and its complaints, both hostile.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "report/counted.h"

namespace fiel::report {
namespace {

constexpr size_t kMaxLaunches = 256, kMaxColumns = 4096, kMaxName = 300, kMaxBytes = 4u << 20;
constexpr size_t kMaxLastWords = 4096;

/// Cells of a line of CSV; quotes are doubled within quotes.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      if (cells.size() == kMaxColumns) return {};
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return quoted ? std::vector<std::string>() : cells;
}

/// "1,048,576" and "12.5"; nothing of "n/a", of what is not finite and of what is below zero.
std::optional<double> number_of(std::string text) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  if (!std::isfinite(value) || value < 0 || value > 1e18) return {};
  return value;
}

/// What ncu makes of units where --print-units base is not obeyed.
double factor_of(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"us", 1e3},     {"usecond", 1e3}, {"ms", 1e6},    {"msecond", 1e6}, {"s", 1e9},
      {"second", 1e9}, {"Kbyte", 1e3},   {"Mbyte", 1e6}, {"Gbyte", 1e9},   {"Kbyte/block", 1e3}};
  for (const auto& [name, factor] : kUnits)
    if (unit == name) return factor;
  return 1;
}

struct Table {
  std::vector<std::string> header, units;
  size_t column(std::string_view name) const {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  }
  std::string text(const std::vector<std::string>& cells, std::string_view name) const {
    const size_t i = column(name);
    return i < cells.size() ? printable(cells[i], kMaxName) : std::string();
  }
};

CountedLaunch launch_of(const Table& t, const std::vector<std::string>& cells) {
  CountedLaunch launch{
      t.text(cells, "Kernel Name"), t.text(cells, "Grid Size"), t.text(cells, "Block Size"), {}};
  for (const std::string& metric : counted_metrics()) {
    const size_t i = t.column(metric);
    if (i >= cells.size()) continue;
    const double factor = i < t.units.size() ? factor_of(t.units[i]) : 1;
    if (const auto value = number_of(cells[i])) launch.values[metric] = *value * factor;
  }
  return launch;
}

/// Whether `name` is in `text`, not as a part of a longer name.
bool holds_name(std::string_view text, std::string_view name) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (size_t at = text.find(name); at < text.size(); at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !in_name(text[at - 1])) && (end == text.size() || !in_name(text[end])))
      return true;
  }
  return false;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::vector<CountedLaunch> read_counted(std::string_view output) {
  std::vector<CountedLaunch> launches;
  Table table;
  for (const std::string_view line : split(output.substr(0, kMaxBytes), '\n')) {
    if (table.header.empty() && !line.starts_with("\"ID\"")) continue;
    std::vector<std::string> cells = cells_of(line);
    if (table.header.empty()) {
      table.header = std::move(cells);
      continue;
    }
    if (cells.size() != table.header.size()) continue;  // the program's own, between the launches
    if (cells[0].empty())
      table.units = std::move(cells);
    else if (is_digits(cells[0]) && launches.size() < kMaxLaunches)
      launches.push_back(launch_of(table, cells));
  }
  return launches;
}

std::string why_not_counted(std::string_view output) {
  const auto holds = [&](std::string_view words) {
    return output.find(words) != std::string_view::npos;
  };
  if (holds("ERR_NVGPUCTRPERM"))
    return "the driver lets only administrators read the counters (ERR_NVGPUCTRPERM): load nvidia "
           "with NVreg_RestrictProfilingToAdminUsers=0 (no rights of a container reach into the "
           "sandbox)";
  if (holds("LibraryNotLoaded") || holds("Failed to initialize the profiler"))
    return "ncu cannot start its profiler here: containers and virtual machines often keep it out, "
           "and so does a driver without NVreg_RestrictProfilingToAdminUsers=0";
  for (const std::string_view line : split(output, '\n'))
    if (line.starts_with("==ERROR==")) return "ncu: " + printable(trim(line.substr(9)), 200);
  if (holds("No kernels were profiled")) return "no kernel was launched";
  return "ncu counted nothing";
}

std::vector<std::string> unknown_metrics(std::string_view output,
                                         const std::vector<std::string>& metrics) {
  std::string errors;
  for (const std::string_view line : split(output, '\n'))
    if (line.starts_with("==ERROR==")) errors += std::string(line) + "\n";
  std::vector<std::string> unknown;
  for (const std::string& m : metrics)
    if (holds_name(errors, std::string_view(m).substr(0, m.find('.')))) unknown.push_back(m);
  return unknown;
}

std::string last_words(std::string_view output) {
  if (output.size() > kMaxLastWords) {
    output.remove_prefix(output.size() - kMaxLastWords);
    if (const size_t end = output.find('\n'); end < output.size()) output.remove_prefix(end + 1);
  }
  std::string words;
  for (const std::string_view line : split(trim(output), '\n'))
    words += printable(trim(line), kMaxLastWords) + "\n";
  return words == "\n" ? "" : words;
}

}  // namespace fiel::report
