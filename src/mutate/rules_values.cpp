// Rules about which values are used: subscripts, numbers, neutral elements, dropped terms.
#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "mutate/rules.h"

namespace fiel::mutate {
namespace {

bool is_infinity(std::string_view w) {
  return w == "INFINITY" || w == "FLT_MAX" || w == "CUDART_INF_F" || w == "HUGE_VALF";
}

/// `= v;`, `{v`, `, v}`, `? x : v`: where an accumulator or padding gets its value.
bool initialises(const Site& s, size_t first) {
  if (first == 0) return false;
  if (s.is(first - 1, "=") || s.is(first - 1, "{") || s.is(first - 1, ":") || s.is(first - 1, "?"))
    return true;
  if (!s.is(first - 1, ",")) return false;
  const size_t end = s.code.end_of_operand(first, {",", ";"});
  return s.is(end, "}") || (s.is(end, ",") && s.is(s.code.end_of_operand(end + 1, {";"}), "}"));
}

struct Number {
  bool valid = false, floating = false;
  double value = 0;
  uint64_t integer = 0;
  std::string suffix;
};

Number read_number(std::string_view text) {
  Number n;
  const std::string word(text);
  const bool hex = word.starts_with("0x") || word.starts_with("0X");
  n.floating = !hex && word.find_first_of(".eE") != std::string::npos;
  char* end = nullptr;
  if (n.floating) {
    n.value = std::strtod(word.c_str(), &end);
  } else {
    n.integer = std::strtoull(word.c_str(), &end, 0);
    n.value = static_cast<double>(n.integer);
  }
  n.suffix = end;
  n.valid = n.suffix.find_first_not_of("fFuUlL") == std::string::npos;
  return n;
}

std::string floating(double value, const std::string& suffix) {
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

void neutral(const Site& s, size_t first, size_t number, const Number& n) {
  const bool negative = first != number;
  if (is_infinity(s.token(number).spelling)) {
    s.replace(Kind::neutral, "zero for an infinity", first, number + 1, "0.f");
    s.replace(Kind::neutral, "a finite for an infinity", first, number + 1,
              negative ? "-1e4f" : "1e4f");
    return;
  }
  const std::string type = n.floating ? n.suffix : "";
  if (n.value == 0)
    s.replace(Kind::neutral, "one for zero", first, number + 1, n.floating ? "1." + type : "1");
  if (n.value == 1)
    s.replace(Kind::neutral, "zero for one", first, number + 1, n.floating ? "0." + type : "0");
}

void constant(const Site& s, size_t i, const Number& n) {
  if (!n.floating) {
    s.replace(Kind::constant, "one more", i, i + 1, fmt::format("{}{}", n.integer + 1, n.suffix));
    if (n.integer > 0)
      s.replace(Kind::constant, "one less", i, i + 1, fmt::format("{}{}", n.integer - 1, n.suffix));
    return;
  }
  if (n.value == 0) return;
  if (std::fabs(n.value) < 1e-3) {  // an epsilon
    s.replace(Kind::constant, "ten times", i, i + 1, floating(n.value * 10, n.suffix));
    s.replace(Kind::constant, "zero", i, i + 1, "0." + n.suffix);
  } else {
    s.replace(Kind::constant, "a thousandth more", i, i + 1, floating(n.value * 1.001, n.suffix));
    s.replace(Kind::constant, "negative", i, i + 1, "(-" + s.source(i, i + 1) + ")");
  }
}

/// `acc += v;` as a statement of its own.
bool accumulates(const Site& s, size_t i) {
  static constexpr std::array kCompound =
      std::to_array<std::string_view>({"+=", "-=", "*=", "/=", "|=", "&=", "^="});
  bool compound = false;
  for (std::string_view w : kCompound) compound |= s.is(i, w);
  if (!compound || s.place(i).for_header) return false;
  return s.is(s.code.end_of_operand(i + 1, {";"}), ";");
}

bool compensates(const Site& s) {
  for (size_t i = s.function.begin; i < s.function.end; ++i)
    if (s.is(i, "__fsub_rn") || s.is(i, "__fadd_rn")) return true;
  return false;
}

}  // namespace

void index_rules(const Site& s) {
  static constexpr std::array kPlaces =
      std::to_array<std::string_view>({"threadIdx", "blockIdx", "blockDim", "gridDim"});
  for (size_t i = s.function.begin; i < s.function.end; ++i) {
    if (s.is(i, "[") && !s.place(i + 1).declarator) {
      const size_t close = s.place(i).partner;
      const std::string inside = s.source(i + 1, close);
      s.replace(Kind::index, "one further", i + 1, close, inside + " + 1");
      if (inside != "0") s.replace(Kind::index, "always the first", i + 1, close, "0");
    }
    if (s.place(i).subscript && s.code.binary(i)) {
      if (s.is(i, "+")) s.replace(Kind::index, "minus", i, i + 1, "-");
      if (s.is(i, "*")) s.replace(Kind::index, "plus for times", i, i + 1, "+");
      if (s.is(i, "/")) s.replace(Kind::index, "remainder", i, i + 1, "%");
      if (s.is(i, "%")) s.replace(Kind::index, "quotient", i, i + 1, "/");
    }
    for (std::string_view place : kPlaces) {
      if (!s.is(i, place) || !s.is(i + 1, ".")) continue;
      const bool x = s.is(i + 2, "x");
      s.replace(Kind::index, "another axis", i + 2, i + 3, x ? "y" : "x");
    }
  }
}

void number_rules(const Site& s) {
  for (size_t i = s.function.begin; i < s.function.end; ++i) {
    if (s.place(i).declarator || s.place(i).template_bracket) continue;
    const bool infinity = is_infinity(s.token(i).spelling);
    if (!infinity && s.token(i).kind != TokenKind::number) continue;
    const Number n = infinity ? Number{} : read_number(s.token(i).spelling);
    if (!infinity && !n.valid) continue;
    const bool sign = s.is(i - 1, "-") && !s.code.binary(i - 1);
    const size_t first = sign ? i - 1 : i;
    const bool trivial = infinity || n.value == 0 || n.value == 1;
    if (trivial && initialises(s, first) && !s.place(i).for_header) {
      neutral(s, first, i, n);
    } else if (!infinity && !(s.place(i).for_header && s.is(first - 1, "="))) {
      constant(s, i, n);  // a loop's start is a matter of bounds
    }
  }
}

void term_rules(const Site& s) {
  const Kind kind = compensates(s) ? Kind::precision : Kind::term;
  for (size_t i = s.function.begin; i < s.function.end; ++i) {
    if (s.place(i).subscript || s.place(i).declarator) continue;
    if (accumulates(s, i))
      s.replace(kind, "statement dropped", s.statement_begin(i),
                s.code.end_of_operand(i + 1, {";"}), "");
    if (s.place(i).for_header || !s.code.binary(i)) continue;
    const bool sum = s.is(i, "+") || s.is(i, "-"), product = s.is(i, "*") || s.is(i, "/");
    if (!sum && !product) continue;
    std::set<std::string_view> stops = {"+", "-",  ";",  ",",  "?",  ":",  "<",
                                        ">", "<=", ">=", "==", "!=", "&&", "||"};
    if (product) stops.insert({"*", "/", "%"});
    const size_t end = s.code.end_of_operand(i + 1, stops);
    s.replace(kind, sum ? "summand dropped" : "factor dropped", i, end, "");
  }
}

}  // namespace fiel::mutate
