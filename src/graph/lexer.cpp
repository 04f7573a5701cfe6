#include "graph/lexer.h"

#include <fmt/core.h>

#include "graph/source_position.h"

namespace fiel::graph {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(const Source& source)
      : source_(source), text_(source.text), line_(source.first_line) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size()) FIEL_TRY_STATUS(next());
    push(TokenKind::line_end, 0);
    push(TokenKind::end, 0);
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  uint32_t column() const { return static_cast<uint32_t>(at_ - line_start_ + 1); }
  void push(TokenKind kind, size_t length) {
    tokens_.push_back({kind, text_.substr(at_, length), line_, column()});
    at_ += length;
  }
  tl::unexpected<Error> error(const std::string& message, std::string hint = {}) const {
    return fail(error_at(ErrorCode::parse, &source_, line_, column(), message, std::move(hint)));
  }

  Status next() {
    char c = peek();
    if (c == '\n') {
      if (depth_ == 0)
        push(TokenKind::line_end, 1);
      else
        ++at_;
      ++line_;
      line_start_ = at_;
      return {};
    }
    if (c == ' ' || c == '\t' || c == '\r') return ++at_, Status{};
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return {};
    }
    if (c == ';') return push(TokenKind::line_end, 1), Status{};
    if (is_name_start(c)) return name();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"' || c == '\'') return quoted(c);
    return symbol();
  }

  Status name() {
    size_t n = 0;
    while (is_name_start(peek(n)) || is_digit(peek(n))) ++n;
    if (n > 128) return error("a name of more than 128 characters");
    push(TokenKind::name, n);
    return {};
  }

  Status number() {
    size_t n = 0;
    bool real = false;
    while (is_digit(peek(n)) || peek(n) == '_') ++n;
    if (peek(n) == '.') {
      real = true;
      ++n;
      while (is_digit(peek(n))) ++n;
    }
    if (peek(n) == 'e' || peek(n) == 'E') {
      size_t digits = n + 1;
      if (peek(digits) == '+' || peek(digits) == '-') ++digits;
      if (!is_digit(peek(digits))) return error("an exponent without digits");
      real = true;
      n = digits;
      while (is_digit(peek(n))) ++n;
    }
    if (is_name_start(peek(n))) return error("a name cannot start with a digit");
    if (n > 64) return error("a number of more than 64 characters");
    push(real ? TokenKind::real : TokenKind::integer, n);
    return {};
  }

  Status quoted(char quote) {
    size_t n = 1;
    while (at_ + n < text_.size() && peek(n) != quote && peek(n) != '\n') ++n;
    if (peek(n) != quote) return error("a string is not closed on its line");
    tokens_.push_back({TokenKind::text, text_.substr(at_ + 1, n - 1), line_, column()});
    at_ += n + 1;
    return {};
  }

  Status symbol() {
    static constexpr std::string_view kPairs[] = {"**", "//", "<=", ">=", "==", "!="};
    for (std::string_view pair : kPairs)
      if (text_.substr(at_, 2) == pair) return push(TokenKind::symbol, 2), Status{};
    char c = peek();
    if (std::string_view("+-*/%@<>=()[],&|^~").find(c) == std::string_view::npos) {
      auto code = static_cast<unsigned char>(c);
      if (c == '.')
        return error("methods and attributes are not part of the language",
                     "write a call: relu(x) instead of x.relu()");
      return code >= 0x20 && code < 0x7f
                 ? error(fmt::format("'{}' means nothing here", c))
                 : error(fmt::format("byte 0x{:02x} means nothing here", code));
    }
    if (c == '(' || c == '[') ++depth_;
    if ((c == ')' || c == ']') && depth_ > 0) --depth_;
    push(TokenKind::symbol, 1);
    return {};
  }

  const Source& source_;
  std::string_view text_;
  size_t at_ = 0, line_start_ = 0;
  uint32_t line_;
  int depth_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(const Source& source) { return Lexer(source).run(); }

}  // namespace fiel::graph
