#include "search/novelty.h"

#include <algorithm>
#include <cctype>

#include "agent/workspace/kernel_text.h"
#include "base/hash.h"

namespace fiel::search {
namespace {

constexpr size_t kPiece = 5;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where the comment or white space that begins at `at` ends; `at` itself where there is none.
size_t past_blank(std::string_view s, size_t at) {
  if (std::isspace(static_cast<unsigned char>(s[at]))) return at + 1;
  if (s.substr(at, 2) == "//") return std::min(s.find('\n', at), s.size());
  if (s.substr(at, 2) == "/*") {
    const size_t end = s.find("*/", at + 2);
    return end == std::string_view::npos ? s.size() : end + 2;
  }
  return at;
}

std::vector<uint64_t> pieces_of(const std::vector<std::string>& words) {
  std::vector<uint64_t> pieces;
  for (size_t i = 0; i + 1 <= words.size(); ++i) {
    std::string piece;
    for (size_t j = i; j < std::min(i + kPiece, words.size()); ++j) piece += words[j] + ' ';
    pieces.push_back(xxh3(std::as_bytes(std::span(piece.data(), piece.size()))));
    if (i + kPiece >= words.size()) break;
  }
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  return pieces;
}

double jaccard(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  if (a.empty() && b.empty()) return 1;
  size_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j])
      ++both, ++i, ++j;
    else if (a[i] < b[j])
      ++i;
    else
      ++j;
  }
  return static_cast<double>(both) / static_cast<double>(a.size() + b.size() - both);
}

std::vector<std::string> words_of_cuda(std::string_view s) {
  std::vector<std::string> words;
  for (size_t at = 0; at < s.size();) {
    if (const size_t next = past_blank(s, at); next != at) {
      at = next;
      continue;
    }
    const size_t begin = at++;
    if (is_word(s[begin]))
      while (at < s.size() && is_word(s[at])) ++at;
    words.emplace_back(s.substr(begin, at - begin));
  }
  return words;
}

/// Where the string that begins at `at` ends; one that is not closed ends with its line, or, of
/// three quotes, with the text.
size_t past_string(std::string_view s, size_t at) {
  const bool triple = s.substr(at, 3) == std::string(3, s[at]);
  const std::string quotes(triple ? 3 : 1, s[at]);
  for (at += quotes.size(); at < s.size(); ++at) {
    if (s[at] == '\\')
      ++at;
    else if (s.substr(at, quotes.size()) == quotes)
      return at + quotes.size();
    else if (!triple && s[at] == '\n')
      return at;
  }
  return s.size();
}

/// Space within strings does not count either: they hold CUDA. Everything else of them does, since
/// what is a comment in CUDA need not be one in a string.
void add_string(std::string_view s, std::vector<std::string>& words) {
  for (size_t at = 0; at < s.size();) {
    const size_t begin = at++;
    if (std::isspace(static_cast<unsigned char>(s[begin]))) continue;
    if (is_word(s[begin]))
      while (at < s.size() && is_word(s[at])) ++at;
    words.emplace_back(s.substr(begin, at - begin));
  }
}

/// A line's indentation is a word of its own, where something follows it.
std::vector<std::string> words_of_python(std::string_view s) {
  std::vector<std::string> words;
  size_t line = 0;  // where it begins
  bool fresh = true;
  for (size_t at = 0; at < s.size();) {
    const char c = s[at];
    if (c == '\n') {
      line = ++at;
      fresh = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (c == '#') {
      at = std::min(s.find('\n', at), s.size());
    } else {
      if (fresh) words.push_back("\n" + std::string(s.substr(line, at - line)));
      fresh = false;
      const size_t begin = at;
      const bool string = c == '"' || c == '\'';
      at = string ? past_string(s, at) : at + 1;
      while (!string && is_word(c) && at < s.size() && is_word(s[at])) ++at;
      add_string(s.substr(begin, at - begin), words);
    }
  }
  return words;
}

}  // namespace

std::vector<std::string> words_of(std::string_view s) {
  return agent::form_of(s, agent::KernelForm::cu) == agent::KernelForm::python ? words_of_python(s)
                                                                               : words_of_cuda(s);
}

Likeness likeness(const std::string& source, const History& history, Novelty novelty) {
  Likeness best;
  const auto words = words_of(source);
  const auto pieces = pieces_of(words);
  for (const Candidate& c : history) {
    const auto others = words_of(c.source);
    const double share = words == others             ? 1
                         : novelty == Novelty::words ? jaccard(pieces, pieces_of(others))
                                                     : 0;
    if (share > best.share) best = {share, c.number};
  }
  return best;
}

}  // namespace fiel::search
