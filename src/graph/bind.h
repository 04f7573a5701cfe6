// From a written call to a node: matches positional and keyword arguments with the signature,
// checks their kinds, drops defaults.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/operators.h"

namespace fiel::graph {

struct Operand;
using OperandList = std::vector<Operand>;
struct NodeRef {
  uint32_t node = 0;
};
struct NoneValue {};
/// bool, int, real: a number known while parsing; string; list; a node; None.
struct Operand {
  std::variant<NoneValue, bool, int64_t, double, std::string, NodeRef, OperandList> value;
  uint32_t line = 0, column = 0;

  bool is_node() const { return std::holds_alternative<NodeRef>(value); }
  bool is_number() const {
    return std::holds_alternative<bool>(value) || std::holds_alternative<int64_t>(value) ||
           std::holds_alternative<double>(value);
  }
  bool is_list() const { return std::holds_alternative<OperandList>(value); }
};
const char* describe(const Operand& operand);  ///< "a tensor", "an integer" …

struct Argument {
  std::string keyword;  ///< empty where positional
  Operand value;
};

/// A wrong argument: message, hint and the place.
struct BindError {
  std::string message, hint;
  uint32_t line = 0, column = 0;
};

struct BoundCall {
  std::vector<Operand> tensors;  ///< nodes, numbers or None, in slot order
  std::vector<std::pair<std::string, Attribute>> attributes;
};

tl::expected<BoundCall, BindError> bind_arguments(const Operator& op,
                                                  std::vector<Argument> arguments, uint32_t line,
                                                  uint32_t column);

/// The node that a number stands for.
Node constant_node(const Operand& number);

}  // namespace fiel::graph
