// Arithmetic on numbers that are known while parsing: 4*H, 1/sqrt(D), -1e-5.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/bind.h"

namespace fiel::graph {

/// Python's results: int/int is real, // floors. The error says what is wrong (overflow, division
/// by zero); nullopt: not an operation on numbers.
struct Folded {
  std::optional<Operand> value;
  std::string error;
};
Folded fold_binary(std::string_view symbol, const Operand& a, const Operand& b);
Folded fold_negative(const Operand& a);
/// sqrt, exp, log, log2, abs, floor, ceil, min, max, pow of numbers only.
Folded fold_call(std::string_view name, const std::vector<Operand>& arguments);

}  // namespace fiel::graph
