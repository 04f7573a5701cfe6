#include "ptx/lexer.h"

#include <array>
#include <cstring>

namespace fiel::ptx {
namespace {

enum : uint8_t { kStart = 1, kFollow = 2, kDigit = 4, kBlank = 8 };

constexpr std::array<uint8_t, 256> character_classes() {
  std::array<uint8_t, 256> out{};
  for (int c = 'a'; c <= 'z'; ++c) out[static_cast<size_t>(c)] = kStart | kFollow;
  for (int c = 'A'; c <= 'Z'; ++c) out[static_cast<size_t>(c)] = kStart | kFollow;
  for (int c = '0'; c <= '9'; ++c) out[static_cast<size_t>(c)] = kFollow | kDigit;
  out['_'] = out['$'] = kStart | kFollow;
  out['%'] = kStart;
  for (const char c : {' ', '\t', '\r', '\n', '\v', '\f', '\0'})
    out[static_cast<uint8_t>(c)] |= kBlank;
  return out;
}
constexpr std::array<uint8_t, 256> kClasses = character_classes();

bool is(char c, uint8_t what) { return (kClasses[static_cast<uint8_t>(c)] & what) != 0; }

const char* follow(const char* p, const char* end) {
  while (p != end && is(*p, kFollow)) ++p;
  return p;
}

/// After a '.': word characters and '::' pairs.
const char* follow_modifier(const char* p, const char* end) {
  for (;;) {
    p = follow(p, end);
    if (end - p >= 3 && p[0] == ':' && p[1] == ':' && is(p[2], kFollow))
      p += 2;
    else
      return p;
  }
}

}  // namespace

bool Lexer::skip_blanks() {
  while (at_ != end_) {
    if (is(*at_, kBlank)) {
      if (*at_ == '\n') ++line_;
      ++at_;
    } else if (*at_ == '/' && end_ - at_ >= 2 && at_[1] == '/') {
      const void* newline = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
      at_ = newline ? static_cast<const char*>(newline) : end_;
    } else if (*at_ == '/' && end_ - at_ >= 2 && at_[1] == '*') {
      const char* p = at_ + 2;
      uint32_t lines = 0;
      while (end_ - p >= 2 && !(p[0] == '*' && p[1] == '/')) lines += *p++ == '\n';
      if (end_ - p < 2) return false;
      line_ += lines;
      at_ = p + 2;
    } else {
      return true;
    }
  }
  return true;
}

void Lexer::take(TokenKind kind, const char* stop) {
  token_.kind = kind;
  token_.punctuation = 0;
  token_.text = {at_, static_cast<size_t>(stop - at_)};
  token_.line = line_;
  at_ = stop;
}

const char* Lexer::number_end(const char* p) const {
  // 0f and 0d constants, hexadecimal and decimal integers, U and exponents are all word characters;
  // only a fraction ("1.5") and a signed exponent ("1e-3") need a second look.
  const char* start = p;
  p = follow(p, end_);
  if (p != end_ && *p == '.' && end_ - p >= 2 && is(p[1], kDigit)) p = follow(p + 1, end_);
  const bool hex = p - start >= 2 && start[0] == '0' && !is(start[1], kDigit) && start[1] != 'e' &&
                   start[1] != 'E' && start[1] != '.';
  if (!hex && (p[-1] == 'e' || p[-1] == 'E') && end_ - p >= 2 && (*p == '-' || *p == '+') &&
      is(p[1], kDigit))
    p = follow(p + 1, end_);
  return p;
}

void Lexer::advance() {
  if (!skip_blanks()) {
    take(TokenKind::bad, end_);
    return;
  }
  if (at_ == end_) {
    take(TokenKind::end, end_);
    return;
  }
  const char c = *at_;
  const bool glued = end_ - at_ >= 2;
  if (c == '%' && !(glued && is(at_[1], kFollow))) {
    take(TokenKind::punctuation, at_ + 1);
    token_.punctuation = '%';
  } else if (is(c, kStart)) {
    take(TokenKind::identifier, follow(at_ + 1, end_));
  } else if (is(c, kDigit)) {
    take(TokenKind::number, number_end(at_));
  } else if (c == '.' && glued && is(at_[1], kFollow)) {
    take(TokenKind::dotted, follow_modifier(at_ + 1, end_));
  } else if (c == '"') {
    const char* p = at_ + 1;
    while (p != end_ && *p != '"' && *p != '\n') ++p;
    const bool closed = p != end_ && *p == '"';
    take(closed ? TokenKind::string : TokenKind::bad, closed ? p + 1 : p);
  } else if (std::strchr("{}[]()<>,;:+-*/=|!@&^~?.", c) != nullptr) {
    take(TokenKind::punctuation, at_ + 1);
    token_.punctuation = c;
  } else {
    take(TokenKind::bad, at_ + 1);
  }
}

bool Lexer::next_is(char c) {
  if (at_ != end_ && *at_ == c) return true;
  return skip_blanks() && at_ != end_ && *at_ == c;
}

void Lexer::extend_over_modifiers() {
  // at_ may stand beyond blanks already (next_is), so glue is judged from the token's own end.
  const char* start = token_.text.data();
  const char* stop = start + token_.text.size();
  while (end_ - stop >= 2 && *stop == '.' && is(stop[1], kFollow)) {
    stop = follow_modifier(stop + 1, end_);
    at_ = stop;
  }
  token_.text = {start, static_cast<size_t>(stop - start)};
}

void Lexer::skip_to_closing_brace() {
  while (at_ != end_ && *at_ != '}') line_ += *at_++ == '\n';
  advance();
}

}  // namespace fiel::ptx
