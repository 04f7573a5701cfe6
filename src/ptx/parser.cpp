#include "ptx/parser.h"

#include <fmt/core.h>

#include "base/text.h"

namespace fiel::ptx {
namespace {

struct Position {
  std::string_view line;
  size_t column = 0;
};

Position position_of(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  const size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t end = std::min(text.find('\n', offset), text.size());
  return {text.substr(start, end - start), offset - start};
}

/// The line with a caret below the place; long lines are shown around it.
std::string excerpt(uint32_t line, const Position& position) {
  constexpr size_t kBefore = 60;
  constexpr size_t kWidth = 120;
  const size_t from = position.column > kBefore + 20 ? position.column - kBefore : 0;
  std::string shown(position.line.substr(from, kWidth));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = ' ';
  const std::string gutter = fmt::format("{:>5} | ", line);
  const std::string mark = std::string(position.column - from, ' ') + '^';
  return fmt::format("{}{}\n      | {}", gutter, shown, mark);
}

}  // namespace

bool Parser::error(ErrorCode code, const Token& at, std::string what, std::string hint) {
  if (error_) return false;  // the first one is the cause
  const Position position = position_of(lexer_.text(), lexer_.offset_of(at));
  error_ = Error{code,
                 fmt::format("PTX line {}, column {}: {}\n{}", at.line, position.column + 1, what,
                             excerpt(at.line, position)),
                 std::move(hint),
                 {}};
  return false;
}

bool Parser::syntax(const Token& at, std::string what, std::string hint) {
  return error(ErrorCode::parse, at, std::move(what), std::move(hint));
}

bool Parser::expected(std::string_view what) {
  const Token& t = token();
  if (t.kind == TokenKind::end)
    return syntax(t, fmt::format("the text ends where {} should be", what),
                  "The module is cut short; compile it again.");
  if (t.kind == TokenKind::bad && t.text.substr(0, 2) == "/*")
    return syntax(t, "a comment that is never closed");
  if (t.kind == TokenKind::bad && t.text.substr(0, 1) == "\"")
    return syntax(t, "a string that is never closed");
  return syntax(t, fmt::format("expected {}, found \"{}\"", what, printable(t.text, 60)));
}

bool Parser::accept(char c) {
  if (!is(c)) return false;
  lexer_.advance();
  return true;
}

bool Parser::accept(std::string_view text) {
  if (!is(text)) return false;
  lexer_.advance();
  return true;
}

bool Parser::expect(char c) {
  if (accept(c)) return true;
  return expected(fmt::format("'{}'", c));
}

bool Parser::take_identifier(Token& out) {
  if (token().kind != TokenKind::identifier) return expected("a name");
  out = token();
  lexer_.advance();
  return true;
}

bool Parser::take_string(std::string& out) {
  if (token().kind != TokenKind::string) return expected("a string in quotes");
  out = token().text.substr(1, token().text.size() - 2);
  lexer_.advance();
  return true;
}

const Function* Module::find_function(std::string_view name) const {
  for (const Symbol& symbol : symbols)
    if (symbol.kind == Symbol::Kind::function && symbol.name == name)
      return &functions[symbol.function];
  return nullptr;
}

Result<Module> parse(std::string_view text) {
  if (text.size() > Limits::kTextBytes)
    return fail(ErrorCode::limit,
                fmt::format("the PTX text has {}, more than {}", format_bytes(text.size()),
                            format_bytes(Limits::kTextBytes)),
                "Split the module, or compile without -G.");
  // nvcc pads the text in a fatbin with NULs, which read as blanks.
  Parser parser(text);
  if (!parser.parse_module()) return fail(parser.take_error());
  return parser.take_module();
}

}  // namespace fiel::ptx
