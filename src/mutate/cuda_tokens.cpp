#include "mutate/cuda_tokens.h"

#include <fmt/core.h>

#include <array>
#include <cctype>

namespace fiel::mutate {
namespace {

constexpr size_t kMaxBytes = 4u << 20;

// Longest first: the first that fits is the token.
constexpr std::array kPunctuation = std::to_array<std::string_view>(
    {"<<<", ">>>", "<<=", ">>=", "...", "<=", ">=", "==", "!=", "&&", "||", "<<", ">>",
     "->",  "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "::"});

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    while (skip_blank()) FIEL_TRY_STATUS(next());
    if (open_comment_) return fail(ErrorCode::parse, "a comment does not end");
    return std::move(tokens_);
  }

 private:
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }

  void go_to(size_t end) {
    for (; at_ < end && at_ < text_.size(); ++at_)
      if (text_[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
        fresh_line_ = true;
      }
  }

  /// Blanks, comments and directives. False at the end.
  bool skip_blank() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        go_to(at_ + 1);
      } else if (starts("//")) {
        go_to(end_of_line());
      } else if (starts("/*")) {
        const size_t close = text_.find("*/", at_ + 2);
        open_comment_ = close == std::string_view::npos;
        go_to(open_comment_ ? text_.size() : close + 2);
      } else if (text_[at_] == '#' && fresh_line_) {
        go_to(end_of_line());
      } else if (text_[at_] == '\\') {
        go_to(at_ + 1);
      } else {
        return true;
      }
    }
    return false;
  }

  /// A backslash before the line's end continues it.
  size_t end_of_line() const {
    size_t i = at_;
    while (i < text_.size() && (text_[i] != '\n' || at(i - 1) == '\\')) ++i;
    return i;
  }

  Status next() {
    size_t end = at_ + 1;
    TokenKind kind = TokenKind::punctuation;
    const char c = text_[at_];
    if (starts("R\"")) {
      FIEL_TRY(end, end_of_raw());
      kind = TokenKind::text;
    } else if (c == '"' || c == '\'') {
      FIEL_TRY(end, end_of_literal(c));
      kind = TokenKind::text;
    } else if (digit(c) || (c == '.' && digit(at(at_ + 1)))) {
      end = end_of_number();
      kind = TokenKind::number;
    } else if (word_char(c)) {
      while (word_char(at(end))) ++end;
      kind = TokenKind::identifier;
    } else {
      for (std::string_view p : kPunctuation)
        if (starts(p)) {
          end = at_ + p.size();
          break;
        }
    }
    tokens_.push_back({kind, at_, end, line_, static_cast<uint32_t>(at_ - line_begin_ + 1),
                       text_.substr(at_, end - at_)});
    fresh_line_ = false;
    go_to(end);
    return {};
  }

  tl::unexpected<Error> open(const char* what) const {
    return fail(ErrorCode::parse, fmt::format("line {}: {} does not end", line_, what));
  }
  Result<size_t> end_of_literal(char quote) const {
    for (size_t i = at_ + 1; i < text_.size() && text_[i] != '\n'; ++i) {
      if (text_[i] == '\\')
        ++i;
      else if (text_[i] == quote)
        return i + 1;
    }
    return open("a literal");
  }
  Result<size_t> end_of_raw() const {
    const size_t bracket = text_.find('(', at_);
    if (bracket == std::string_view::npos || bracket > at_ + 18) return open("a raw string");
    const std::string close = ")" + std::string(text_.substr(at_ + 2, bracket - at_ - 2)) + "\"";
    const size_t found = text_.find(close, bracket);
    if (found == std::string_view::npos) return open("a raw string");
    return found + close.size();
  }
  size_t end_of_number() const {
    size_t i = at_ + 1;
    const bool hex = at(at_) == '0' && (at(i) == 'x' || at(i) == 'X');
    for (;; ++i) {
      const char c = at(i), before = at(i - 1);
      const bool exponent = hex ? before == 'p' || before == 'P' : before == 'e' || before == 'E';
      const bool separator = c == '\'' && word_char(at(i + 1));
      if (!word_char(c) && c != '.' && !separator && !((c == '+' || c == '-') && exponent))
        return i;
    }
  }

  std::string_view text_;
  size_t at_ = 0, line_begin_ = 0;
  uint32_t line_ = 1;
  bool fresh_line_ = true, open_comment_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text) {
  if (text.size() > kMaxBytes)
    return fail(ErrorCode::limit, fmt::format("a source of {} bytes", text.size()));
  return Lexer(text).run();
}

}  // namespace fiel::mutate
