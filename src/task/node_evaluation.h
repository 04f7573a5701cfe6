// The reference graph evaluated one node at a time, with a say in every operand and result: what
// rounding does to a computation is found by doing it.
//
//   FIEL_TRY(NodeEvaluation nodes, NodeEvaluation::create(instance));
//   FIEL_TRY(auto y, nodes.run(inputs, {.result = [](const NodePlan& p, Tensor& t) { … }}));
//
// Values are f64, or integers and bools as graph::evaluate gives them. Slower than evaluate() by
// the copies; for whole references use that.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "task/task.h"

namespace fiel::task {

struct NodePlan {
  uint32_t node = 0;
  graph::Graph alone;              ///< the node, its operands as inputs
  std::vector<uint32_t> operands;  ///< nodes behind the inputs of `alone`
  graph::TensorType type;          ///< as the task's types are promoted
  double reduction_length = 1;     ///< of this node
  bool exact = false;              ///< moves or selects values: no rounding happens here
  bool contraction = false;        ///< multiplies and adds, as tensor cores do
};

struct NodeHooks {
  /// What node sees in place of its operand (slot of NodePlan::operands). Floating operands only.
  std::function<Tensor(const NodePlan&, size_t slot, const Tensor&)> operand;
  /// Changes a floating result before others see it; the tensor is contiguous, f64 and its own.
  std::function<void(const NodePlan&, Tensor&)> result;
};

class NodeEvaluation {
 public:
  /// The graph is decomposed first (task/decomposition.h).
  static Result<NodeEvaluation> create(const Instance& instance);
  const std::vector<NodePlan>& plans() const { return plans_; }
  const graph::Graph& graph() const { return graph_; }
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, const NodeHooks& hooks) const;

 private:
  graph::Graph graph_;
  std::vector<NodePlan> plans_;
  std::vector<uint32_t> last_use_;
};

/// Operators that copy, select or compare: their result is one of their operands' values, exactly.
bool is_exact(std::string_view op);
bool is_contraction(std::string_view op);
bool has_contraction(const graph::Graph& graph);

}  // namespace fiel::task
