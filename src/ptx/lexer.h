// Cuts PTX text into tokens, on demand, without copying.
//
//   Lexer lexer(text);
//   while (lexer.token().kind != TokenKind::end) lexer.advance();
//
// Knows comments, numbers and identifiers; it does not know what a directive or an opcode means.
#pragma once

#include <cstdint>
#include <string_view>

namespace fiel::ptx {

enum class TokenKind : uint8_t {
  end,
  identifier,  ///< mov, %r1, $L__BB0_1, _
  dotted,      ///< .reg, .x, .L2::128B: a dot and what is glued to it
  number,      ///< 12, 0x1F, 017, 0b1, 12U, 0f3F800000, 1.5e3
  string,      ///< "…", the quotes included
  punctuation,
  bad,  ///< a byte that begins nothing, or a comment or string that is never closed
};

struct Token {
  TokenKind kind = TokenKind::end;
  char punctuation = 0;  ///< the character, for kind punctuation
  std::string_view text;
  uint32_t line = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : begin_(text.data()), end_(begin_ + text.size()) {
    at_ = begin_;
    advance();
  }

  const Token& token() const { return token_; }
  void advance();
  /// Whether the current token is followed by `c` (blanks and comments skipped).
  bool next_is(char c);
  /// With the current token an identifier: appends every `.modifier` that is glued to it, so that
  /// an opcode with its modifiers is one token.
  void extend_over_modifiers();
  /// Skips to the next '}' without looking at what stands between, and makes it the current token.
  void skip_to_closing_brace();

  std::string_view text() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }
  size_t offset_of(const Token& token) const {
    const auto at = reinterpret_cast<uintptr_t>(token.text.data());
    const auto first = reinterpret_cast<uintptr_t>(begin_);
    const auto last = reinterpret_cast<uintptr_t>(end_);
    return at < first || at > last ? text().size() : at - first;
  }

 private:
  bool skip_blanks();
  void take(TokenKind kind, const char* stop);
  const char* number_end(const char* p) const;

  const char* begin_;
  const char* end_;
  const char* at_;
  uint32_t line_ = 1;
  Token token_;
};

}  // namespace fiel::ptx
