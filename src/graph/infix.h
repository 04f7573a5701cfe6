// The infix operators, shared by the parser and the printer.
#pragma once

#include <string_view>

namespace fiel::graph {

struct Infix {
  std::string_view symbol, op;
  int level;  ///< binds tighter the higher
};

/// Levels 0 … kInfixLevels-1 associate to the left; ** stands above unary minus and is not one.
inline constexpr int kInfixLevels = 6;
inline constexpr int kUnaryLevel = kInfixLevels;
inline constexpr int kPowerLevel = kInfixLevels + 1;
inline constexpr int kPrimaryLevel = kInfixLevels + 2;

inline constexpr Infix kInfixes[] = {
    {"<", "lt", 0},
    {"<=", "le", 0},
    {">", "gt", 0},
    {">=", "ge", 0},
    {"==", "eq", 0},
    {"!=", "ne", 0},
    {"|", "bitwise_or", 1},
    {"^", "bitwise_xor", 2},
    {"&", "bitwise_and", 3},
    {"+", "add", 4},
    {"-", "sub", 4},
    {"*", "mul", 5},
    {"/", "div", 5},
    {"//", "floor_divide", 5},
    {"%", "remainder", 5},
    {"@", "matmul", 5},
    {"**", "pow", kPowerLevel},
};

constexpr const Infix* infix_of_symbol(std::string_view symbol) {
  for (const Infix& i : kInfixes)
    if (i.symbol == symbol) return &i;
  return nullptr;
}
constexpr const Infix* infix_of_operator(std::string_view op) {
  for (const Infix& i : kInfixes)
    if (i.op == op) return &i;
  return nullptr;
}

}  // namespace fiel::graph
