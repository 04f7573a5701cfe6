// Integer expressions over a call's shapes, as launch plans use them.
//
//   FIEL_TRY(Expression e, Expression::parse("ceil_div(in0.shape[0], 4) * 2"));
//   FIEL_TRY(int64_t v, e.evaluate(names));      // names: "in0.shape[0]" -> 1000
//
// + - * / % with C's precedence, parentheses, min, max, ceil_div, names. Division by zero and
// overflow are errors. Nothing else: a plan is data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fiel::kernel {

using NameLookup = std::function<std::optional<int64_t>(std::string_view)>;

class Expression {
 public:
  /// At most 4096 characters and 64 levels of nesting.
  static Result<Expression> parse(std::string_view text);
  Result<int64_t> evaluate(const NameLookup& names) const;
  const std::string& text() const { return text_; }

 private:
  enum class Op : uint8_t {
    number,
    name,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    min,
    max,
    ceil_div
  };
  struct Step {  ///< in reverse Polish order
    Op op = Op::number;
    int64_t number = 0;
    std::string name;
  };
  friend class ExpressionParser;
  static Result<int64_t> apply(Op op, int64_t a, int64_t b);
  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace fiel::kernel
