#include "report/page/source_colour.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "report/foreign_text.h"

namespace fiel::report {
namespace {

constexpr std::array kCudaWords = std::to_array<std::string_view>(
    {"alignas",      "auto",         "bool",          "break",
     "case",         "char",         "class",         "const",
     "constexpr",    "continue",     "default",       "do",
     "double",       "else",         "enum",          "extern",
     "false",        "float",        "for",           "goto",
     "if",           "inline",       "int",           "long",
     "namespace",    "nullptr",      "return",        "short",
     "signed",       "sizeof",       "static",        "struct",
     "switch",       "template",     "this",          "true",
     "typedef",      "typename",     "union",         "unsigned",
     "using",        "void",         "volatile",      "while",
     "__global__",   "__device__",   "__shared__",    "__host__",
     "__restrict__", "__constant__", "__syncthreads", "__launch_bounds__",
     "half",         "size_t",       "int64_t",       "uint32_t",
     "threadIdx",    "blockIdx",     "blockDim",      "gridDim",
     "FIEL_KERNEL"});
constexpr std::array kPythonWords = std::to_array<std::string_view>(
    {"and",  "as",     "assert", "break",   "class", "continue", "def",    "del",   "elif",
     "else", "except", "False",  "finally", "for",   "from",     "global", "if",    "import",
     "in",   "is",     "lambda", "None",    "not",   "or",       "pass",   "raise", "return",
     "self", "True",   "try",    "while",   "with",  "yield"});

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Painter {
 public:
  Painter(std::string_view text, Language language, size_t max_lines)
      : text_(text), language_(language), max_lines_(max_lines) {}

  std::vector<std::string> paint() {
    while (at_ < text_.size() && lines_.size() < max_lines_) token();
    if (!line_.empty() && lines_.size() < max_lines_) lines_.push_back(std::move(line_));
    return std::move(lines_);
  }

 private:
  bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  bool hashes() const { return language_ != Language::cuda; }

  void token() {
    const char c = text_[at_];
    if (hashes() && c == '#') return emit("c", text_.find('\n', at_));
    if (!hashes() && starts("//")) return emit("c", text_.find('\n', at_));
    if (!hashes() && starts("/*")) return emit("c", after("*/", at_ + 2));
    if (!hashes() && c == '#' && only_blank_before()) return emit("p", end_of_directive());
    if (hashes() && (starts("\"\"\"") || starts("'''")))
      return emit("s", after(text_.substr(at_, 3), at_ + 3));
    if (c == '"' || c == '\'') return emit("s", end_of_string(c));
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return emit("n", end_of_number());
    if (word_char(c)) return word();
    emit("", at_ + 1);
  }

  size_t after(std::string_view mark, size_t from) const {
    const size_t found = text_.find(mark, from);
    return found == std::string_view::npos ? text_.size() : found + mark.size();
  }
  bool only_blank_before() const {
    size_t i = at_;
    while (i > 0 && (text_[i - 1] == ' ' || text_[i - 1] == '\t')) --i;
    return i == 0 || text_[i - 1] == '\n';
  }
  size_t end_of_directive() const {
    size_t i = at_;
    while (i < text_.size() && (text_[i] != '\n' || text_[i - 1] == '\\')) ++i;
    return i;
  }
  size_t end_of_string(char quote) const {
    size_t i = at_ + 1;
    while (i < text_.size() && text_[i] != quote && text_[i] != '\n') i += text_[i] == '\\' ? 2 : 1;
    return i < text_.size() && text_[i] == quote ? i + 1 : std::min(i, text_.size());
  }
  size_t end_of_number() const {
    size_t i = at_;
    while (i < text_.size() &&
           (word_char(text_[i]) || text_[i] == '.' ||
            ((text_[i] == '+' || text_[i] == '-') && (text_[i - 1] == 'e' || text_[i - 1] == 'E'))))
      ++i;
    return i;
  }
  void word() {
    size_t i = at_;
    while (i < text_.size() && word_char(text_[i])) ++i;
    const std::string_view w = text_.substr(at_, i - at_);
    const bool known =
        language_ == Language::cuda
            ? std::find(kCudaWords.begin(), kCudaWords.end(), w) != kCudaWords.end()
            : language_ == Language::python &&
                  std::find(kPythonWords.begin(), kPythonWords.end(), w) != kPythonWords.end();
    emit(known ? "k" : "", i);
  }

  /// A token that spans lines is closed and opened again at each.
  void emit(std::string_view kind, size_t end) {
    end = std::min(std::max(end, at_ + 1), text_.size());
    std::string_view rest = text_.substr(at_, end - at_);
    at_ = end;
    for (;;) {
      const size_t feed = rest.find('\n');
      put(kind, rest.substr(0, feed));
      if (feed == std::string_view::npos) return;
      lines_.push_back(std::move(line_));
      line_.clear();
      if (lines_.size() >= max_lines_) return;
      rest.remove_prefix(feed + 1);
    }
  }
  void put(std::string_view kind, std::string_view part) {
    if (!part.empty() && part.back() == '\r') part.remove_suffix(1);
    if (part.empty()) return;
    const std::string escaped = xml_text(part, 2000);
    if (kind.empty())
      line_ += escaped;
    else
      line_ += "<i class=\"" + std::string(kind) + "\">" + escaped + "</i>";
  }

  std::string_view text_;
  Language language_;
  size_t max_lines_, at_ = 0;
  std::string line_;
  std::vector<std::string> lines_;
};

}  // namespace

Language language_of(std::string_view path) {
  if (path.ends_with(".py")) return Language::python;
  return path.ends_with(".toml") ? Language::toml : Language::cuda;
}

std::vector<std::string> coloured_lines(std::string_view text, Language language,
                                        size_t max_lines) {
  return Painter(text, language, max_lines).paint();
}

}  // namespace fiel::report
