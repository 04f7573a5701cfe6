// How PyTorch spells a call of the operator catalogue.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/operators.h"

namespace fiel::task {

std::string torch_name(DType dtype);  ///< "torch.float32"

/// One use of an operator, its tensor arguments already expressions.
struct TorchCall {
  const graph::Operator* op = nullptr;
  const graph::Node* node = nullptr;
  std::vector<std::string> inputs;  ///< one for each of node->inputs; "None" where left out
  std::vector<bool> number;         ///< that input is a Python number
  std::vector<size_t> ranks;        ///< of each input
  std::string device;               ///< an expression, for what is made from nothing
};

/// The expression; helper functions that it calls are added to `helpers` (their source).
Result<std::string> torch_expression(const TorchCall& call, std::set<std::string>& helpers);

}  // namespace fiel::task
