#include <fmt/core.h>

#include <bit>
#include <charconv>

#include "base/text.h"
#include "ptx/parser.h"

namespace fiel::ptx {
namespace {

struct Operator {
  std::string_view text;
  int precedence;
};
// C's precedences; longer spellings first so that "<<" is not read as "<".
constexpr Operator kOperators[] = {{"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6},
                                   {"!=", 6}, {"&&", 2}, {"||", 1}, {"<", 7},  {">", 7},
                                   {"&", 5},  {"^", 4},  {"|", 3},  {"+", 9},  {"-", 9},
                                   {"*", 10}, {"/", 10}, {"%", 10}};

/// Digits in `base`; false on anything else or beyond 64 bits.
bool digits(std::string_view text, int base, uint64_t& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return problem == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool integer(std::string_view text, uint64_t& value, bool& is_unsigned) {
  is_unsigned = !text.empty() && (text.back() == 'U' || text.back() == 'u');
  if (is_unsigned) text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '0') {
    const char kind = text[1];
    if (kind == 'x' || kind == 'X') return digits(text.substr(2), 16, value);
    if (kind == 'b' || kind == 'B') return digits(text.substr(2), 2, value);
    return digits(text.substr(1), 8, value);
  }
  return digits(text, 10, value);
}

bool apply(std::string_view op, int64_t a, int64_t b, bool is_unsigned, int64_t& out) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  const auto signed_of = [](uint64_t v) { return static_cast<int64_t>(v); };
  if (op == "+") return out = signed_of(ua + ub), true;
  if (op == "-") return out = signed_of(ua - ub), true;
  if (op == "*") return out = signed_of(ua * ub), true;
  if (op == "/" || op == "%") {
    if (b == 0) return false;
    if (is_unsigned)
      out = signed_of(op == "/" ? ua / ub : ua % ub);
    else if (b == -1)  // INT64_MIN / -1 traps on the host
      out = op == "/" ? signed_of(0 - ua) : 0;
    else
      out = op == "/" ? a / b : a % b;
    return true;
  }
  if (op == "<<") return out = ub > 63 ? 0 : signed_of(ua << ub), true;
  if (op == ">>") {
    if (is_unsigned) return out = ub > 63 ? 0 : signed_of(ua >> ub), true;
    return out = ub > 63 ? (a < 0 ? -1 : 0) : a >> b, true;
  }
  if (op == "<") return out = is_unsigned ? ua < ub : a < b, true;
  if (op == ">") return out = is_unsigned ? ua > ub : a > b, true;
  if (op == "<=") return out = is_unsigned ? ua <= ub : a <= b, true;
  if (op == ">=") return out = is_unsigned ? ua >= ub : a >= b, true;
  if (op == "==") return out = a == b, true;
  if (op == "!=") return out = a != b, true;
  if (op == "&") return out = a & b, true;
  if (op == "|") return out = a | b, true;
  if (op == "^") return out = a ^ b, true;
  if (op == "&&") return out = a != 0 && b != 0, true;
  return out = a != 0 || b != 0, true;
}

}  // namespace

bool Parser::number(Operand& out) {
  if (token().kind != TokenKind::number) return expected("a number");
  const std::string_view text = token().text;
  out.kind = Operand::Kind::immediate;
  const bool pattern = text.size() > 2 && text[0] == '0';
  bool good = false;
  bool is_unsigned = false;
  if (pattern && (text[1] == 'f' || text[1] == 'F')) {
    out.is_float = true;
    good = text.size() == 10 && digits(text.substr(2), 16, out.bits);
  } else if (pattern && (text[1] == 'd' || text[1] == 'D')) {
    out.is_float = out.is_double = true;
    good = text.size() == 18 && digits(text.substr(2), 16, out.bits);
  } else if (text.find('.') != std::string_view::npos ||
             (text.find_first_of("xX") == std::string_view::npos &&
              text.find_first_of("eE") != std::string_view::npos)) {
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    out.is_float = out.is_double = true;
    out.bits = std::bit_cast<uint64_t>(value);
    good = problem == std::errc() && end == text.data() + text.size();
  } else {
    good = integer(text, out.bits, is_unsigned);
  }
  if (!good)
    return syntax(token(),
                  fmt::format("\"{}\" is not a number that PTX knows", printable(text, 60)),
                  "Floating constants are 0f and 8, or 0d and 16 hexadecimal digits.");
  lexer_.advance();
  return true;
}

bool Parser::constant(Constant& out, uint32_t depth) {
  if (!constant_binary(out, 0, depth)) return false;
  if (!accept('?')) return true;
  Constant yes;
  Constant no;
  if (depth > 60) return syntax(token(), "an expression nested too deep");
  if (!constant(yes, depth + 1) || !expect(':') || !constant(no, depth + 1)) return false;
  out = out.value != 0 ? yes : no;
  return true;
}

bool Parser::constant_binary(Constant& out, int floor, uint32_t depth) {
  if (!constant_unary(out, depth)) return false;
  for (;;) {
    // Operators are one-character tokens; a second one is glued by position.
    if (token().kind != TokenKind::punctuation) return true;
    constexpr std::string_view kFirst = "<>=!&|^+-*/%";
    if (kFirst.find(token().punctuation) == std::string_view::npos) return true;
    const std::string_view rest = lexer_.text().substr(lexer_.offset_of(token()), 2);
    const Operator* found = nullptr;
    for (const Operator& candidate : kOperators)
      if (found == nullptr && rest.substr(0, candidate.text.size()) == candidate.text)
        found = &candidate;
    if (found == nullptr || found->precedence <= floor) return true;
    const Token at = token();
    for (size_t i = 0; i < found->text.size(); ++i) lexer_.advance();
    Constant right;
    if (!constant_binary(right, found->precedence, depth + 1)) return false;
    const bool is_unsigned = out.is_unsigned || right.is_unsigned;
    if (!apply(found->text, out.value, right.value, is_unsigned, out.value))
      return syntax(at, "division by zero in a constant expression");
    out.is_unsigned = is_unsigned;
  }
}

bool Parser::constant_unary(Constant& out, uint32_t depth) {
  if (depth > 60) return syntax(token(), "an expression nested too deep");
  if (accept('+')) return constant_unary(out, depth + 1);
  for (const char op : {'-', '~', '!'}) {
    if (!accept(op)) continue;
    if (!constant_unary(out, depth + 1)) return false;
    if (op == '-') out.value = static_cast<int64_t>(0 - static_cast<uint64_t>(out.value));
    if (op == '~') out.value = ~out.value;
    if (op == '!') out = {out.value == 0, false};
    return true;
  }
  if (accept('(')) {
    const bool to_signed = is(".s64");
    if (to_signed || is(".u64")) {
      lexer_.advance();
      if (!expect(')') || !constant_unary(out, depth + 1)) return false;
      out.is_unsigned = !to_signed;
      return true;
    }
    return constant(out, depth + 1) && expect(')');
  }
  if (accept("WARP_SZ")) {
    out.value = 32;
    return true;
  }
  const Token at = token();
  Operand literal;
  if (!number(literal)) return false;
  if (literal.is_float) return syntax(at, "a floating constant where an integer must be");
  out.value = static_cast<int64_t>(literal.bits);
  out.is_unsigned = at.text.back() == 'U' || out.value < 0;
  return true;
}

bool Parser::unsigned_constant(uint64_t& out, uint64_t max, std::string_view what) {
  const Token at = token();
  Constant value;
  if (!constant(value)) return false;
  if ((value.value < 0 && !value.is_unsigned) || static_cast<uint64_t>(value.value) > max)
    return error(ErrorCode::limit, at,
                 fmt::format("{} {} is outside 0 … {}", what, value.value, format_count(max)));
  out = static_cast<uint64_t>(value.value);
  return true;
}

}  // namespace fiel::ptx
