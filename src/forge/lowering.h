// From a task's graph to steps: which space the kernel walks, where each value varies, what a
// composite operator is made of. Used by program_of alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "forge/program.h"
#include "forge/scalar_operators.h"
#include "graph/graph.h"
#include "graph/operators.h"

namespace fiel::forge {

class Lowering {
 public:
  Lowering(const task::Instance& at, std::vector<graph::TensorType> types, Variance variance)
      : at_(at), types_(std::move(types)), variance_(variance) {}
  Result<Program> run();

 private:
  /// A node of the graph as a step, and whether a row's value lies without the reduced dimensions.
  struct Lowered {
    uint32_t step = 0;
    bool squeezed = false;
  };
  using Node = graph::Node;

  Status choose_space();
  Status space_of_reduction(const graph::Call& call);
  Status space_of_product(const graph::Call& call);
  uint32_t broadcast_dimensions() const;
  Result<Operand> classify_input(size_t index) const;
  Status lower(uint32_t node);
  Result<Lowered> lower_call(uint32_t node, const graph::Call& call);
  Result<Lowered> lower_scalar(uint32_t node, const graph::Call& call, const ScalarText& text);
  Result<std::optional<Lowered>> lower_rows(uint32_t node, const graph::Call& call);
  Result<Lowered> lower_reduction(const graph::Call& call, uint32_t x);
  Result<Lowered> lower_normalisation(const graph::Call& call, uint32_t x);
  Result<Lowered> lower_softmax(const graph::Call& call, uint32_t x);
  Result<Lowered> lower_product(const graph::Call& call);
  Result<std::pair<uint32_t, bool>> matrix_operand(uint32_t node) const;
  Status finish();

  uint32_t add(Step step);
  uint32_t constant(double v);
  uint32_t count();
  uint32_t apply(std::string text, std::vector<uint32_t> arguments, std::string fast = {},
                 bool expensive = false);
  uint32_t reduce(Reduction reduction, uint32_t of);
  struct Moments {
    uint32_t mean, square_sum;  ///< of differences from the mean
  };
  Moments moments(uint32_t x);
  uint32_t exponential(uint32_t of);

  graph::Call call_of(uint32_t node) const;
  std::string refusal(const Node& node) const;
  bool reduces_rows(const graph::Call& call) const;
  uint32_t argument(const graph::Call& call, size_t slot) const {
    return lowered_[call.node->inputs[slot]].step;
  }

  const task::Instance& at_;
  std::vector<graph::TensorType> types_;
  Variance variance_;
  Program p_;
  Shape space_;
  std::optional<uint32_t> product_node_;
  std::vector<Lowered> lowered_;
  std::optional<uint32_t> count_;
};

}  // namespace fiel::forge
