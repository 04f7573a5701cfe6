#include "judge/torch/compiler_words.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace fiel::judge::torch {
namespace {

constexpr size_t kLineBytes = 300;
constexpr size_t kLinesWithoutErrors = 12;
/// Behind an error come the source line, a caret and notes.
constexpr size_t kLinesOfAnError = 6;

bool contains(std::string_view line, std::string_view word) {
  return line.find(word) != std::string_view::npos;
}

/// g++'s "a.cpp:3:4: error: …", nvcc's "a.cu(3): error: …", ptxas' and the linkers' own.
bool is_error(std::string_view line) {
  static constexpr std::array<std::string_view, 7> kWords = {
      ": error:",    ": error :",           ": fatal error:",  "ptxas fatal",
      "ptxas error", "undefined reference", "undefined symbol"};
  return std::any_of(kWords.begin(), kWords.end(), [&](auto w) { return contains(line, w); });
}

/// Ninja's and Python's frame around what the compilers said.
bool is_frame(std::string_view line) {
  const std::string_view words = trim(line);
  return words.empty() || words.starts_with("Traceback") || words.starts_with("File \"") ||
         words.starts_with("FAILED:") || words.starts_with("ninja:") || words.starts_with("[") ||
         contains(words, "subprocess.CalledProcessError") ||
         words.starts_with("The above exception") || contains(words, " -DTORCH_");
}

std::string cut(std::string_view line) {
  return std::string(line.substr(0, kLineBytes)) + (line.size() > kLineBytes ? "…" : "");
}

}  // namespace

std::string first_error(std::string_view text) {
  for (const std::string_view line : split(text, '\n'))
    if (is_error(line)) return cut(trim(line));
  return {};
}

std::string compiler_words(std::string_view text) {
  const std::vector<std::string_view> lines = split(text, '\n');
  std::vector<std::string> kept;
  size_t left = 0;
  for (const std::string_view line : lines) {
    if (is_error(line)) left = kLinesOfAnError;
    if (left == 0 || (is_frame(line) && !is_error(line))) {
      left = 0;
      continue;
    }
    --left;
    kept.push_back(cut(line));
    if (kept.size() == kCompilerLines) break;
  }
  if (kept.empty()) {
    // Python's own errors stand behind the last place of their traceback.
    size_t from = lines.size() - std::min(lines.size(), kLinesWithoutErrors);
    for (size_t i = from; i < lines.size(); ++i)
      if (trim(lines[i]).starts_with("File \"")) from = i;
    for (size_t i = from; i < lines.size(); ++i) kept.push_back(cut(lines[i]));
  }
  std::string out;
  for (const std::string& line : kept) out += line + "\n";
  return out;
}

}  // namespace fiel::judge::torch
