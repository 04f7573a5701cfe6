#include "case_records.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/hash.h"
#include "base/text.h"

namespace fiel::vgpu::test {
namespace {

/// Findings that leave every byte decided. With any other the order of threads, what lay in memory
/// before, or a limit of the device at hand has a say.
constexpr std::string_view kHarmless[] = {"integer-division-by-zero", "same-value-write"};
constexpr int kNewestTarget = 90;

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isxdigit(c) != 0; });
}

/// A line's first three words and the rest; empty when it is none.
std::pair<std::string, std::string> parts_of(std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  const bool numbers =
      words.size() >= 5 && !words[3].empty() &&
      std::all_of(words[3].begin(), words[3].end(), [](char c) { return std::isdigit(c) != 0; }) &&
      is_hex(words[4], 16);
  if (!numbers || words[0].empty() || words[1].empty() || words[2].empty()) return {};
  const size_t key = words[0].size() + words[1].size() + words[2].size() + 2;
  return {std::string(line.substr(0, key)), std::string(line.substr(key + 1))};
}

}  // namespace

std::string why_not_recorded(const Case& test) {
  if (!test.virtual_only.empty()) return test.virtual_only;
  const CaseExpect& expect = test.expect;
  if (!expect.unsupported.empty()) return "its module must be refused";
  if (expect.status != "completed") return "it must end as " + expect.status;
  for (const CaseExpect::Finding& f : expect.findings)
    if (std::find(std::begin(kHarmless), std::end(kHarmless), f.code) == std::end(kHarmless))
      return "what it leaves is not decided: " + f.code;
  for (const CaseBuffer& b : test.buffers)
    if (b.freed) return fmt::format("{} is freed before the launch", b.name);
  if (std::none_of(test.modules.begin(), test.modules.end(), is_for_sm90))
    return "its module is for newer GPUs";
  return {};
}

bool is_for_sm90(const CaseModule& module) {
  constexpr std::string_view kTarget = ".target sm_";
  const size_t at = module.ptx.find(kTarget);
  return at != std::string::npos &&
         std::atoi(module.ptx.c_str() + at + kTarget.size()) <= kNewestTarget;
}

std::string sorted_lines(const std::string& printed) {
  std::vector<std::string_view> lines = split(printed, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string_view line : lines) out.append(line).append("\n");
  return out;
}

std::string record(const Case& test, const CaseModule& module, const std::string& what,
                   std::span<const std::byte> bytes, size_t words) {
  std::string line =
      fmt::format("{} {} {} {} {:016x}", test.name, module.name, what, bytes.size(), xxh3(bytes));
  for (size_t i = 0; i < words && 4 * i < bytes.size(); ++i) {
    uint32_t word = 0;
    memcpy(&word, bytes.data() + 4 * i, std::min<size_t>(4, bytes.size() - 4 * i));
    line += fmt::format(" {:08x}", word);
  }
  return line;
}

Result<std::map<std::string, std::string>> read_records(std::string_view text,
                                                        std::string_view file_name) {
  std::map<std::string, std::string> out;
  size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    auto [key, rest] = parts_of(line);
    if (key.empty() || !out.emplace(key, rest).second)
      return fail(ErrorCode::parse,
                  fmt::format("{}:{}: {}", file_name, number,
                              key.empty() ? "not a record" : "recorded twice: " + key));
  }
  return out;
}

RecordComparison compare_records(const std::map<std::string, std::string>& recorded,
                                 const std::map<std::string, std::string>& now) {
  // Of the words only as many are compared as both show: the digests are of all bytes.
  const auto same = [](const std::string& a, const std::string& b) {
    return a.substr(0, a.find(' ', a.find(' ') + 1)) == b.substr(0, b.find(' ', b.find(' ') + 1));
  };
  RecordComparison out;
  for (const auto& [key, value] : recorded) {
    const auto found = now.find(key);
    if (found == now.end())
      out.differences.push_back(key + ": recorded, and not there any more");
    else if (!same(value, found->second))
      out.differences.push_back(fmt::format("{}: {}, recorded {}", key, found->second, value));
  }
  for (const auto& [key, value] : now)
    if (recorded.count(key) == 0) out.unrecorded.push_back(key);
  return out;
}

}  // namespace fiel::vgpu::test
