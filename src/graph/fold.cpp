#include "graph/fold.h"

#include <cmath>
#include <limits>

namespace fiel::graph {
namespace {

double as_real(const Operand& v) {
  if (auto* b = std::get_if<bool>(&v.value)) return *b ? 1 : 0;
  if (auto* i = std::get_if<int64_t>(&v.value)) return static_cast<double>(*i);
  return std::get<double>(v.value);
}
bool is_integer(const Operand& v) { return !std::holds_alternative<double>(v.value); }
int64_t as_integer(const Operand& v) {
  if (auto* b = std::get_if<bool>(&v.value)) return *b ? 1 : 0;
  return std::get<int64_t>(v.value);
}

Folded real(double v) { return {Operand{v}, {}}; }
Folded integer(int64_t v) { return {Operand{v}, {}}; }
Folded boolean(bool v) { return {Operand{v}, {}}; }
Folded error(const char* message) { return {std::nullopt, message}; }

Folded integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  int64_t result = 1;
  if (exponent > 64 && base != 0 && base != 1 && base != -1) return error("integer overflow");
  if (exponent > 64) exponent = 64 + (exponent & 1);
  for (int64_t n = 0; n < exponent; ++n)
    if (__builtin_mul_overflow(result, base, &result)) return error("integer overflow");
  return integer(result);
}

Folded fold_integers(std::string_view s, int64_t a, int64_t b) {
  int64_t r = 0;
  if (s == "+") return __builtin_add_overflow(a, b, &r) ? error("integer overflow") : integer(r);
  if (s == "-") return __builtin_sub_overflow(a, b, &r) ? error("integer overflow") : integer(r);
  if (s == "*") return __builtin_mul_overflow(a, b, &r) ? error("integer overflow") : integer(r);
  if (s == "**") return integer_power(a, b);
  if (s == "//" || s == "%") {
    if (b == 0) return error("division by zero");
    if (b == -1) return s == "%" ? integer(0) : fold_integers("-", 0, a);
    int64_t q = a / b, m = a % b;
    if (m != 0 && (m < 0) != (b < 0)) {
      --q;
      m += b;
    }
    return integer(s == "//" ? q : m);
  }
  return {};
}

}  // namespace

Folded fold_binary(std::string_view s, const Operand& a, const Operand& b) {
  double x = as_real(a), y = as_real(b);
  if (s == "<") return boolean(x < y);
  if (s == "<=") return boolean(x <= y);
  if (s == ">") return boolean(x > y);
  if (s == ">=") return boolean(x >= y);
  if (s == "==") return boolean(x == y);
  if (s == "!=") return boolean(x != y);
  if (s == "/") return y == 0 ? error("division by zero") : real(x / y);
  if (is_integer(a) && is_integer(b)) return fold_integers(s, as_integer(a), as_integer(b));
  if (s == "+") return real(x + y);
  if (s == "-") return real(x - y);
  if (s == "*") return real(x * y);
  if (s == "**") return real(std::pow(x, y));
  if (s == "//") return y == 0 ? error("division by zero") : real(std::floor(x / y));
  if (s == "%") return y == 0 ? error("division by zero") : real(x - y * std::floor(x / y));
  return {};
}

Folded fold_negative(const Operand& a) {
  if (!is_integer(a)) return real(-as_real(a));
  if (as_integer(a) == std::numeric_limits<int64_t>::min()) return error("integer overflow");
  return integer(-as_integer(a));
}

Folded fold_call(std::string_view name, const std::vector<Operand>& arguments) {
  if (arguments.empty()) return {};
  double x = as_real(arguments[0]);
  if (arguments.size() == 1) {
    if (name == "sqrt")
      return x < 0 ? error("square root of a negative number") : real(std::sqrt(x));
    if (name == "exp") return real(std::exp(x));
    if (name == "log") return x <= 0 ? error("logarithm of a number <= 0") : real(std::log(x));
    if (name == "log2") return x <= 0 ? error("logarithm of a number <= 0") : real(std::log2(x));
    if (name == "floor" && is_integer(arguments[0])) return integer(as_integer(arguments[0]));
    if (name == "floor") return real(std::floor(x));
    if (name == "ceil" && is_integer(arguments[0])) return integer(as_integer(arguments[0]));
    if (name == "ceil") return real(std::ceil(x));
    if (name == "abs" && x < 0) return fold_negative(arguments[0]);
    if (name == "abs") return {arguments[0], {}};
  } else if (arguments.size() == 2) {
    if (name == "pow") return fold_binary("**", arguments[0], arguments[1]);
    bool first_less = x < as_real(arguments[1]);
    if (name == "min") return {first_less ? arguments[0] : arguments[1], {}};
    if (name == "max") return {first_less ? arguments[1] : arguments[0], {}};
  }
  return {};
}

}  // namespace fiel::graph
